"""An exception in the middle of a transaction: nothing of it is visible on either cluster.

    python abort.py gtc.toml eu us orders
"""

import sys

import gtc


class OutOfStock(Exception):
    pass


def main(config: str, first: str, second: str, topic: str) -> None:
    with gtc.Coordinator.open(config) as coordinator:
        try:
            with coordinator.transaction() as txn:
                txn.send(first, topic, b"an order")
                txn.send(second, topic, b"an order")
                raise OutOfStock
        except OutOfStock:
            print(f"{txn.id} is on neither cluster: {coordinator.outcome(txn.id)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
