"""The asynchronous classes on real clusters."""

from __future__ import annotations

import asyncio

import pytest

import gtc
from conftest import PATIENCE_S, World


def test_tasks_commit_and_abort_without_blocking_the_loop(world: World) -> None:
    topic = world.topic()

    async def run() -> None:
        async with await gtc.AsyncCoordinator.open(world.config()) as coordinator:

            async def book(number: int) -> None:
                async with coordinator.transaction() as txn:
                    await txn.send("eu", topic, b"value")
                    await txn.send_many("us", [gtc.Record(topic, b"value")])
                    if number % 2:
                        raise ArithmeticError(number)

            booked = [book(number) for number in range(8)]
            results = await asyncio.gather(*booked, return_exceptions=True)
            assert sum(isinstance(result, ArithmeticError) for result in results) == 4
            assert results.count(None) == 4
            with pytest.raises(gtc.ConfigError):
                async with coordinator.transaction() as txn:
                    await txn.send("nowhere", topic, b"value")
            await coordinator.recover()
            assert coordinator.in_doubt() == []

    asyncio.run(run())
    assert len(world.committed("eu", topic)) == len(world.committed("us", topic)) == 4


def test_the_loop_goes_on_while_a_consumer_waits_and_a_cancelled_wait_loses_nothing(
    world: World,
) -> None:
    topic = world.topic()

    async def run() -> None:
        async with await gtc.AsyncCoordinator.open(world.config()) as coordinator:
            consumer = await coordinator.consumer("eu", topic, topic)
            waiting = asyncio.ensure_future(consumer.next())
            while not consumer.lag():
                assert not waiting.done()
                await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            world.write("eu", topic, [b"a", b"b"])
            copied = []
            async for batch in consumer:
                async with coordinator.transaction() as txn:
                    copied += [record.value for record in batch]
                    await txn.send_many("us", [gtc.Record(topic, one.value) for one in batch])
                    await txn.send_offsets(consumer)
                if len(copied) == 2:
                    break
            assert copied == [b"a", b"b"]
            assert await consumer.next(timeout_s=0.2) is None

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
    assert world.committed("us", topic) == [b"a", b"b"]


def test_a_transaction_with_a_cancelled_write_can_only_abort(world: World) -> None:
    topic = world.topic()

    async def run() -> None:
        async with await gtc.AsyncCoordinator.open(world.config()) as coordinator:
            txn = coordinator.begin()
            # The first write opens a slot, which takes a while.
            sending = asyncio.ensure_future(txn.send("eu", topic, b"value"))
            await asyncio.sleep(0)
            assert sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            with pytest.raises(gtc.AbortedError):
                await txn.commit()

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
    assert world.committed("eu", topic) == []
