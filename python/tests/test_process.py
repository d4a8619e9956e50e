"""Signals, forks, crashes and memory: what a process as a whole goes through."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Callable, Dict, List, Optional

import gtc
from conftest import PATIENCE_S, World

SAMPLES = Path(__file__).parent.parent / "samples"


def run_sample(
    name: str, *arguments: str, environment: Optional[Dict[str, str]] = None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(SAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S * 2,
        env={**os.environ, **(environment or {})},
    )


def test_ctrl_c_interrupts_a_wait_and_the_coordinator_closes(world: World) -> None:
    topic = world.topic()
    program = textwrap.dedent(
        f"""
        import signal
        import gtc
        # Whoever started the tests in the background may have left the signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with gtc.Coordinator.open({world.config_file()!r}) as coordinator:
            consumer = coordinator.consumer("eu", {topic!r}, {topic!r})
            txn = coordinator.begin()
            txn.send("eu", {topic!r}, b"value")
            try:
                print("waiting", flush=True)
                consumer.next()
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        print("closed", coordinator.id, flush=True)
        """
    )
    with subprocess.Popen(
        [sys.executable, "-I", "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=PATIENCE_S)
    assert rest == f"interrupted\nclosed {world.name}\n"
    assert process.returncode == 0
    assert world.committed("eu", topic) == []


def in_child(
    pipe: Connection,
    coordinator: gtc.Coordinator,
    txn: gtc.Transaction,
    consumer: gtc.Consumer,
) -> None:
    told: List[str] = []
    attempts: List[Callable[[], object]] = [
        coordinator.begin,
        coordinator.close,
        lambda: txn.send("eu", "topic", b"value"),
        lambda: gtc.check(toml=""),
        consumer.next,
        consumer.lag,
        consumer.is_caught_up,
        consumer.notices,
        lambda: consumer.resume_at("topic", 0, 0),
        consumer.close,
    ]
    for attempt in attempts:
        try:
            attempt()
        except gtc.UnsupportedError as error:
            told.append(error.remedy)
    pipe.send((told, len(attempts)))
    # What it inherited goes away with it, and nothing of the parent's is touched by that.
    del coordinator, txn, consumer
    gc.collect()


def test_a_forked_child_is_told_so_and_harms_nothing(world: World) -> None:
    topic = world.topic()
    with gtc.Coordinator.open(world.config()) as coordinator:
        consumer = coordinator.consumer("eu", topic, topic)
        with coordinator.transaction() as txn:
            txn.send("eu", topic, b"value")
            txn.send("us", topic, b"value")
            fork = multiprocessing.get_context("fork")
            ours, theirs = fork.Pipe()
            child = fork.Process(target=in_child, args=(theirs, coordinator, txn, consumer))
            child.start()
            assert ours.poll(PATIENCE_S)
            told, attempts = ours.recv()
            assert len(told) == attempts and all("spawn" in remedy for remedy in told)
            child.join(PATIENCE_S)
            assert child.exitcode == 0
    assert world.committed("eu", topic) == world.committed("us", topic) == [b"value"]


def test_killed_after_the_decision_the_next_run_finds_it_committed(world: World) -> None:
    topic = world.topic()
    arguments = (world.config_file(), "eu", "us", topic)
    crash = {"GTC_CRASH_AT": "append-decided:after"}
    killed = run_sample("crash_and_recover.py", *arguments, environment=crash)
    assert killed.returncode == -signal.SIGKILL, (
        "this needs a build with the feature crash-points, as `cargo xtask languages python` "
        f"makes it: {killed}"
    )
    again = run_sample("crash_and_recover.py", *arguments)
    assert again.returncode == 0 and "was booked before" in again.stdout, again
    assert world.committed("eu", topic) == [b"-100"]
    assert world.committed("us", topic) == [b"+100"]


def test_killed_before_the_decision_the_next_run_books_it(world: World) -> None:
    topic = world.topic()
    arguments = (world.config_file(), "eu", "us", topic)
    crash = {"GTC_CRASH_AT": "append-decided:before"}
    killed = run_sample("crash_and_recover.py", *arguments, environment=crash)
    assert killed.returncode == -signal.SIGKILL, killed
    again = run_sample("crash_and_recover.py", *arguments)
    assert again.returncode == 0 and "is booked, as" in again.stdout, again
    assert world.committed("eu", topic) == [b"-100"]
    assert world.committed("us", topic) == [b"+100"]


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_a_hundred_thousand_transactions_leak_nothing(world: World) -> None:
    """Aborted before they write, as 100,000 commits take too long for a test: what crosses the
    border (handles, results, exceptions, records) is made and dropped all the same."""
    config = world.config()
    # Kept outcomes are no leak, and would look like one.
    config["coordinator"]["limits"] = {"outcomes_max": 100}
    with gtc.Coordinator.open(config) as coordinator:
        resident = []
        for round in range(5):
            for number in range(20_000):
                with coordinator.transaction(f"key-{number}") as txn:
                    record = gtc.Record("topic", b"value" * 20, headers={"h": b"1"})
                    try:
                        txn.send_many("nowhere", [record])
                    except gtc.ConfigError:
                        txn.abort()
            gc.collect()
            resident.append(resident_bytes())
    # The first rounds warm up caches and the allocator.
    grown = resident[-1] - resident[1]
    assert grown < 1_000_000, [one // 1000 for one in resident]


def test_written_transactions_leak_nothing(world: World) -> None:
    topic = world.topic()
    config = world.config()
    config["coordinator"]["limits"] = {"outcomes_max": 100}
    objects = []
    with gtc.Coordinator.open(config) as coordinator:
        for _ in range(3):
            for _ in range(100):
                with coordinator.transaction() as txn:
                    txn.send_many("eu", [gtc.Record(topic, b"value") for _ in range(10)])
                    txn.send("us", topic, b"value")
            gc.collect()
            objects.append(len(gc.get_objects()))
    assert objects[2] - objects[1] < 100, objects
    assert len(world.committed("eu", topic)) == 3000


def test_the_samples_do_what_they_say(world: World) -> None:
    topic = world.topic()
    file = world.config_file()
    basic = run_sample("basic.py", file, "eu", "us", topic)
    assert basic.returncode == 0 and "is on both clusters" in basic.stdout, basic
    abort = run_sample("abort.py", file, "eu", "us", topic)
    assert abort.returncode == 0 and "is on neither cluster: aborted" in abort.stdout, abort
    own = run_sample("own_producer.py", file, "eu", "us", topic, world.clusters["eu"])
    assert own.returncode == 0 and "is on both clusters" in own.stdout, own
    resolve = run_sample("resolve_in_doubt.py", file)
    assert resolve.returncode == 0 and "nothing is open" in resolve.stdout, resolve
    unknown = run_sample("resolve_in_doubt.py", file, "1-1000", "commit")
    assert "InvalidStateError" in unknown.stderr, unknown
    assert world.committed("eu", topic) == world.committed("us", topic) == [b"an order"] * 2


def test_a_sample_does_not_run_again_what_cannot_succeed(world: World) -> None:
    booked = run_sample("crash_and_recover.py", world.config_file(), "eu", "us", "no-such-topic")
    assert booked.returncode == 1 and "create the topic" in booked.stderr, booked
    assert "again: " not in booked.stderr, booked


def test_the_jobs_do_what_they_say(world: World) -> None:
    orders, sums = world.topic("-orders"), world.topic("-sums")
    world.write("eu", orders, [b"1 2", b"3", b"4 5 6"])
    file = world.config_file()
    transform = run_sample("consume_transform_produce.py", file, "eu", orders, "us", sums)
    assert transform.stdout == "3 orders summed\n", transform
    assert world.committed("us", sums) == [b"3", b"3", b"15"]
    again = run_sample("consume_transform_produce.py", file, "eu", orders, "us", sums)
    assert again.stdout == "0 orders summed\n", again
    world.write("eu", orders, [b"an order"])
    other = run_sample("consume_transform_produce.py", file, "eu", orders, "us", sums)
    assert other.returncode == 1 and "Traceback" not in other.stderr, other
    assert "numbers such as `3 4` are expected, and not b'an order'" in other.stderr, other
    fan_out = run_sample("fan_out.py", file, "eu", sums, "us")
    assert fan_out.stdout == "0 records are on all clusters\n", fan_out
    fan_out = run_sample("fan_out.py", file, "us", sums, "eu")
    assert fan_out.stdout == "3 records are on all clusters\n", fan_out
    assert world.committed("eu", sums) == [b"3", b"3", b"15"]
