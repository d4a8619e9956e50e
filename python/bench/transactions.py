"""Python's program of `cargo xtask bench languages`.

    python transactions.py CONFIG TOPIC BATCH SECONDS

Each line of standard input is a turn.
"""

import json
import sys
import time

import gtc

VALUE = b"\7" * 100
PARTICIPANTS = ("eu", "us")


def main(config: str, topic: str, batch: str, seconds: str) -> None:
    with gtc.Coordinator.open(config) as coordinator:
        coordinator.recover()
        for _ in sys.stdin:
            begun = time.monotonic()
            transactions = transact(coordinator, topic, int(batch), float(seconds))
            took = time.monotonic() - begun
            records = transactions * int(batch) * len(PARTICIPANTS)
            done = {"transactions": transactions, "records": records, "seconds": took}
            print(json.dumps(done), flush=True)


def transact(coordinator: gtc.Coordinator, topic: str, batch: int, seconds: float) -> int:
    """One transaction after the other, for so long; tells how many."""
    transactions = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with coordinator.transaction() as txn:
            for participant in PARTICIPANTS:
                txn.send_many(participant, [gtc.Record(topic, VALUE) for _ in range(batch)])
        transactions += 1
    return transactions


if __name__ == "__main__":
    main(*sys.argv[1:])
