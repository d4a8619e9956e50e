"""A producer of the application's own votes by its deliveries."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, Dict, List, Optional, Tuple

import pytest
from confluent_kafka import Producer

import gtc
from conftest import PATIENCE_S, World


def producer(
    world: World, transactional_id: str, more: Optional[Dict[str, Any]] = None
) -> Producer:
    settings = {
        "bootstrap.servers": world.clusters["eu"],
        "transactional.id": transactional_id,
        "message.timeout.ms": 10_000,
        **(more or {}),
    }
    made = Producer(settings)
    made.init_transactions(PATIENCE_S)
    return made


def test_counted_deliveries_commit_and_the_producer_goes_on(world: World) -> None:
    topic = world.topic()
    with gtc.Coordinator.open(world.config()) as coordinator:
        coordinator.settle("eu", world.name)
        own = producer(world, world.name)
        for value in (b"first", b"second"):
            txn = coordinator.begin()
            branch = txn.enlist("eu", world.name)
            own.begin_transaction()
            own.produce(topic, value, on_delivery=branch.counting())
            own.flush(PATIENCE_S)
            txn.send("us", topic, value)
            txn.commit()
            own.commit_transaction(PATIENCE_S)
            if branch.finished() == "discard":
                own = producer(world, world.name)
        assert coordinator.in_doubt() == []
    assert world.committed("eu", topic) == world.committed("us", topic) == [b"first", b"second"]


def test_a_failed_delivery_and_silence_are_a_no(world: World) -> None:
    topic = world.topic()
    with gtc.Coordinator.open(world.config()) as coordinator:
        for number, tell in enumerate((True, False)):
            own = producer(world, f"{world.name}-{number}")
            txn = coordinator.begin()
            branch = txn.enlist("eu", f"{world.name}-{number}", "v1")
            own.begin_transaction()
            own.produce(topic, b"value")
            own.flush(PATIENCE_S)
            if tell:
                branch.state_failed("the application saw an error")
            txn.send("us", topic, b"value")
            with pytest.raises(gtc.AbortedError):
                txn.commit()
            own.abort_transaction(PATIENCE_S)
    assert world.committed("eu", topic) == world.committed("us", topic) == []


def test_an_abort_asks_what_became_of_the_deliveries(world: World) -> None:
    topic = world.topic()
    with gtc.Coordinator.open(world.config()) as coordinator:
        for number, fails in enumerate((False, True)):
            own = producer(world, f"{world.name}-{number}")
            txn = coordinator.begin()
            branch = txn.enlist("eu", f"{world.name}-{number}")
            own.begin_transaction()
            own.produce(topic, b"value", on_delivery=branch.counting())
            assert own.flush(PATIENCE_S) == 0
            if fails:
                branch.failed("the application saw an error")
            txn.abort()
            assert branch.finished() == ("discard" if fails else "reuse")
            own.abort_transaction(PATIENCE_S)
    assert world.committed("eu", topic) == []


def test_deliveries_of_another_producer_are_a_no(world: World) -> None:
    topic, another = world.topic(), world.topic("another")
    with gtc.Coordinator.open(world.config()) as coordinator:
        mistaken = producer(world, world.name)
        enlisted = producer(world, f"{world.name}-another")
        txn = coordinator.begin()
        branch = txn.enlist("eu", f"{world.name}-another")
        mistaken.begin_transaction()
        mistaken.produce(topic, b"value", on_delivery=branch.counting())
        enlisted.begin_transaction()
        enlisted.produce(another, b"value")
        assert mistaken.flush(PATIENCE_S) == enlisted.flush(PATIENCE_S) == 0
        txn.send("us", topic, b"value")
        with pytest.raises(gtc.AbortedError, match=f"{topic}-0"):
            txn.commit()
        mistaken.abort_transaction(PATIENCE_S)
    assert world.committed("us", topic) == []


def test_an_identity_under_the_id_of_another_is_refused(world: World) -> None:
    own, another = world.name, f"{world.name}-another"
    producer(world, another)
    told = identity(world, own)
    with gtc.Coordinator.open(world.config()) as coordinator, coordinator.transaction() as txn:
        with pytest.raises(gtc.InvalidStateError, match="another producer's"):
            txn.enlist("eu", another, identity=told)
        txn.enlist("eu", own, identity=told)
        txn.abort()


def identity(world: World, transactional_id: str) -> Tuple[int, int]:
    """What a new producer of this id tells of itself with its statistics."""
    told: List[Tuple[int, int]] = []

    def on_statistics(text: str) -> None:
        eos = json.loads(text)["eos"]
        if eos["idemp_state"] == "Assigned":
            told.append((eos["producer_id"], eos["producer_epoch"]))

    more = {"statistics.interval.ms": 100, "stats_cb": on_statistics}
    made = producer(world, transactional_id, more)
    deadline = time.monotonic() + PATIENCE_S
    while not told and time.monotonic() < deadline:
        made.poll(0.1)
    return told[-1]


def test_stated_deliveries_commit_with_asyncio(world: World) -> None:
    topic = world.topic()

    async def run() -> None:
        async with await gtc.AsyncCoordinator.open(world.config()) as coordinator:
            await coordinator.settle("eu", world.name)
            own = producer(world, world.name)
            txn = coordinator.begin()
            branch = await txn.enlist("eu", world.name)
            own.begin_transaction()
            own.produce(topic, b"value")
            assert own.flush(PATIENCE_S) == 0
            branch.state_delivered()
            await txn.send("us", topic, b"value")
            await txn.commit()
            own.commit_transaction(PATIENCE_S)
            assert await branch.finished() in ("reuse", "discard")

    asyncio.run(run())
    assert world.committed("eu", topic) == world.committed("us", topic) == [b"value"]
