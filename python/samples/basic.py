"""Writes one record to each of two clusters: both become visible, or neither.

    python basic.py gtc.toml eu us orders
"""

import sys

import gtc


def main(config: str, first: str, second: str, topic: str) -> None:
    with gtc.Coordinator.open(config) as coordinator:
        with coordinator.transaction() as txn:
            for participant in (first, second):
                txn.send(participant, topic, b"an order", key=b"order-1")
        print(f"{txn.id} is on both clusters")


if __name__ == "__main__":
    main(*sys.argv[1:])
