"""Copies a topic to several clusters, with asyncio: a record reaches all of them, or none.

    python fan_out.py gtc.toml eu orders us apac
"""

import asyncio
import sys

import gtc


async def fan_out(config: str, source: str, topic: str, *targets: str) -> int:
    count = 0
    async with await gtc.AsyncCoordinator.open(config) as coordinator:
        await coordinator.recover()
        consumer = await coordinator.consumer(source, "fan-out", topic)
        while not consumer.is_caught_up():
            batch = await consumer.next(timeout_s=0.5)
            if batch is None:
                continue
            copies = [gtc.Record(topic, one.value, key=one.key, headers=one.headers) for one in batch]
            async with coordinator.transaction() as txn:
                await asyncio.gather(*(txn.send_many(target, copies) for target in targets))
                await txn.send_offsets(consumer)
            count += len(batch)
    return count


if __name__ == "__main__":
    print(asyncio.run(fan_out(*sys.argv[1:])), "records are on all clusters")
