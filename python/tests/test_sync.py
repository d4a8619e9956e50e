"""The blocking classes on real clusters."""

from __future__ import annotations

import threading
import time
from typing import Any, Dict, List, Tuple

import pytest

import gtc
from conftest import PATIENCE_S, World


def test_a_with_block_commits_on_both_clusters(world: World) -> None:
    topic = world.topic()
    with gtc.Coordinator.open(world.config()) as coordinator:
        with coordinator.transaction("order-1") as txn:
            txn.send("eu", topic, b"value", key="key", partition=0, timestamp_ms=1234)
            txn.send("us", topic, "ü", headers=[("h", b"1"), ("h", None)])
            txn.send_many("us", [gtc.Record(topic, None, key=b""), gtc.Record(topic, b"")])
        found = coordinator.outcome_by_key(b"order-1")
        assert found == gtc.Outcome(txn.id, "committed")
        assert coordinator.outcome(txn.id) == "committed"
        assert coordinator.in_doubt() == []
        described = coordinator.describe(txn.id)
        assert described is not None and described.key == b"order-1"
    (eu,) = world.messages("eu", topic)
    assert (eu.key(), eu.value(), eu.timestamp()[1]) == (b"key", b"value", 1234)
    us = world.messages("us", topic)
    assert [(one.key(), one.value()) for one in us] == [
        (None, "ü".encode()),
        (b"", None),
        (None, b""),
    ]
    assert us[0].headers() == [("h", b"1"), ("h", None)]


def test_an_exception_aborts_and_goes_on_its_way(world: World) -> None:
    topic = world.topic()
    with gtc.Coordinator.open(world.config()) as coordinator:
        with pytest.raises(ZeroDivisionError):
            with coordinator.transaction() as txn:
                txn.send("eu", topic, b"value")
                txn.send("us", topic, b"value")
                1 / 0
        assert coordinator.outcome(txn.id) == "aborted"
        with pytest.raises(gtc.InvalidStateError) as raised:
            txn.send("eu", topic, b"late")
        assert raised.value.transaction == txn.id
    assert world.committed("eu", topic) == world.committed("us", topic) == []


def test_what_was_ended_inside_a_with_block_stays_as_it_is(world: World) -> None:
    topic = world.topic()
    with gtc.Coordinator.open(world.config()) as coordinator:
        with coordinator.transaction() as txn:
            txn.send("eu", topic, b"no")
            txn.abort("the application's mind changed")
        with coordinator.transaction() as txn:
            txn.send("eu", topic, b"yes")
            assert txn.commit(at_decision=True) == txn.id
        txn.close()
    assert world.committed("eu", topic) == [b"yes"]


def test_errors_have_the_class_of_their_kind(world: World) -> None:
    with pytest.raises(gtc.ConfigError) as raised:
        gtc.Coordinator.open({"coordinator": {"id": "x"}, "participants": {}})
    assert (raised.value.kind, raised.value.code) == ("config", 3)
    assert raised.value.retry == "never" and "log" in raised.value.problem
    with pytest.raises(TypeError):
        gtc.Coordinator.open()
    with gtc.Coordinator.open(world.config_file()) as coordinator:
        with pytest.raises(gtc.LogError) as locked:
            gtc.Coordinator.open(world.config())
        assert locked.value.retry == "later"
        with coordinator.transaction() as txn:
            with pytest.raises(gtc.ConfigError) as unknown:
                txn.send("eux", "topic", b"value")
            assert unknown.value.remedy == "did you mean `eu`?"
            assert unknown.value.participant == "eux"
            with pytest.raises(TypeError):
                txn.send("eu", "topic", 7)  # type: ignore[arg-type]
            txn.abort()
        with pytest.raises(gtc.ConfigError):
            coordinator.outcome("seventeen")
        with pytest.raises(gtc.InvalidStateError):
            coordinator.forget(txn.id)
    with pytest.raises(gtc.ClosedError):
        coordinator.begin()
    coordinator.close()


def test_what_no_cluster_can_take_is_refused_at_once(world: World) -> None:
    topic = world.topic()
    with gtc.Coordinator.open(world.config()) as coordinator:
        places: List[Tuple[str, Dict[str, Any]]] = [
            ("", {}),
            ("a\0b", {}),
            (topic, {"partition": -9}),
            (topic, {"timestamp_ms": -5}),
        ]
        for name, place in places:
            with pytest.raises(gtc.AbortedError) as aborted:
                with coordinator.transaction() as txn:
                    txn.send("us", topic, b"value")
                    with pytest.raises(gtc.ConfigError) as refused:
                        txn.send("eu", name, b"value", **place)
            assert aborted.value.retry == refused.value.retry == "never"
            assert aborted.value.problem == refused.value.problem
        with coordinator.transaction() as txn:
            with pytest.raises(gtc.ConfigError) as empty:
                txn.enlist("eu", "")
            assert "transactional.id" in empty.value.problem
            txn.abort()
        with pytest.raises(gtc.ConfigError):
            coordinator.settle("eu", "")
        with pytest.raises(gtc.ConfigError):
            coordinator.begin("k" * 1025)
    assert world.committed("us", topic) == []


def test_a_place_that_the_cluster_does_not_have_is_not_to_be_tried_again(world: World) -> None:
    topic = world.topic()
    with gtc.Coordinator.open(world.config()) as coordinator:
        for name, partition, remedy in [(topic, 99, "partition"), ("no-such", None, "create")]:
            with pytest.raises((gtc.AbortedError, gtc.ConfigError)) as raised:
                with coordinator.transaction() as txn:
                    txn.send("us", topic, b"value")
                    txn.send("eu", name, b"value", partition=partition)
            error = raised.value
            assert error.retry == "never" and remedy in error.remedy, error
            assert name in error.problem and "`eu`" in error.problem, error
    assert world.committed("us", topic) == []


def test_a_configuration_of_other_values_is_refused_by_its_key() -> None:
    for config, told in [
        ({"coordinator": {"id": None}}, "coordinator.id: .* not NoneType"),
        ({"coordinator": {"id": ["x"]}}, "coordinator.id: .* not list"),
        ({"participants": {"eu": {"slots": object()}}}, "participants.eu.slots: .* not object"),
        ({"participants": {7: {}}}, "participants.*str.* not int"),
        (7, "config: .* not int"),
    ]:
        with pytest.raises(TypeError, match=told):
            gtc.Coordinator.open(config)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="toml: .* not int"):
        gtc.check(toml=5)  # type: ignore[arg-type]


def test_every_kind_has_a_class_and_a_number() -> None:
    assert sorted(gtc.KINDS) == list(range(1, 13))
    for code, kind in gtc.KINDS.items():
        assert kind.code == code and issubclass(kind, gtc.GtcError)
        assert getattr(gtc, kind.__name__) is kind


def test_batches_travel_with_what_was_made_of_them(world: World) -> None:
    topic = world.topic()
    world.write("eu", topic, [b"a", b"b", b"c"])
    copied: List[bytes] = []
    with gtc.Coordinator.open(world.config()) as coordinator:
        with coordinator.consumer("eu", topic, topic, records_max=2) as consumer:
            batch = consumer.next(PATIENCE_S)
            assert batch is not None and batch[0].value == b"a" and batch[-1].offset == len(batch) - 1
            with pytest.raises(IndexError):
                batch[len(batch)]
            with pytest.raises(ZeroDivisionError):
                with coordinator.transaction() as txn:
                    txn.send_offsets(batch)
                    1 / 0
            # What was aborted comes again, and nothing is skipped.
            for batch in consumer:
                with coordinator.transaction() as txn:
                    for record in batch:
                        assert record.value is not None
                        txn.send("us", record.topic, record.value, partition=record.partition)
                        copied.append(record.value)
                    txn.send_offsets(consumer)
                if batch.positions == [(topic, 0, 3)]:
                    break
            assert consumer.next(0.2) is None
            assert {notice.kind for notice in consumer.notices()} == {"assigned"}
            assert consumer.participant == "eu"
        with pytest.raises(gtc.ClosedError):
            consumer.next()
        assert list(consumer) == []
    assert copied == [b"a", b"b", b"c"]
    assert world.committed("us", topic) == copied


def test_threads_write_at_once_while_others_wait(world: World) -> None:
    topic = world.topic()
    with gtc.Coordinator.open(world.config()) as coordinator:

        def book() -> None:
            with coordinator.transaction() as txn:
                txn.send("eu", topic, b"value")
                txn.send("us", topic, b"value")

        threads = [threading.Thread(target=book) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
    assert len(world.committed("eu", topic)) == len(world.committed("us", topic)) == 8


def test_other_threads_run_while_one_waits(world: World) -> None:
    """The interpreter's lock is not held by a wait: this thread gets on while the other waits."""
    topic = world.topic()
    with gtc.Coordinator.open(world.config()) as coordinator:
        consumer = coordinator.consumer("eu", topic, topic)
        told: List[gtc.GtcError] = []

        def wait() -> None:
            try:
                consumer.next(PATIENCE_S)
            except gtc.GtcError as error:
                told.append(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        deadline = time.monotonic() + PATIENCE_S
        while not any(notice.kind == "assigned" for notice in consumer.notices()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert waiting.is_alive()
        coordinator.close()
        waiting.join(PATIENCE_S)
        assert isinstance(told[0], gtc.ClosedError)


def test_checks_and_status(world: World) -> None:
    for found in (
        gtc.check(world.config(), participants=["us"]),
        gtc.check(toml=open(world.config_file()).read(), participants=["us"]),
    ):
        assert {finding.participant for finding in found} == {"us"}
        assert next(one for one in found if one.check == "reachable").level == "ok"
    with gtc.Coordinator.open(world.config()) as coordinator:
        coordinator.recover()
        coordinator.verified("eu")
        coordinator.verified("us")
        status = coordinator.status()
        assert (status.coordinator, status.recovered, status.open) == (world.name, True, 0)
        assert [one.state for one in status.participants] == ["verified", "verified"]
        assert coordinator.list() == [] and coordinator.foreign() == []
        assert coordinator.check(["eu"])[0].participant == "eu"
