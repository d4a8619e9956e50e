"""Reads orders on one cluster and writes their sums to another: offsets and records move in one
transaction, so that each order has exactly one sum, through any crash.

    python consume_transform_produce.py gtc.toml eu numbers us sums

An order is numbers with spaces between them, such as `3 4`.
"""

import sys

import gtc


def main(config: str, source: str, orders: str, target: str, sums: str) -> None:
    count = 0
    with gtc.Coordinator.open(config) as coordinator:
        # What a crash left open holds the group's offsets back: it is ended first.
        coordinator.recover()
        consumer = coordinator.consumer(source, "sums", orders, instance="sums-1")
        while not consumer.is_caught_up():
            batch = consumer.next(timeout_s=0.5)
            if batch is None:
                continue
            try:
                with coordinator.transaction() as txn:
                    for record in batch:
                        txn.send(target, sums, total(record), key=record.key)
                    txn.send_offsets(consumer)
                count += len(batch)
            except gtc.AbortedError as error:
                if error.retry != "later":
                    raise
                # Nothing of it is visible: the consumer hands the records out again.
                print(f"again: {error}", file=sys.stderr)
    print(f"{count} orders summed")


def total(order: gtc.ConsumedRecord) -> bytes:
    try:
        return str(sum(map(int, (order.value or b"").split()))).encode()
    except ValueError:
        place = f"{order.topic} partition {order.partition} offset {order.offset}"
        sys.exit(f"{place}: numbers such as `3 4` are expected, and not {order.value!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
