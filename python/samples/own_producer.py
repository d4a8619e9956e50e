"""A producer of the application's own, of confluent-kafka, takes part beside a managed one.

    python own_producer.py gtc.toml eu us orders BOOTSTRAP_OF_EU
"""

import sys

import gtc
from confluent_kafka import Producer

TRANSACTIONAL_ID = "orders-writer"
TIMEOUT_S = 30


def main(config: str, own: str, managed: str, topic: str, bootstrap: str) -> None:
    with gtc.Coordinator.open(config) as coordinator:
        # A restart may find a promised branch: initialising the producer now would abort it.
        coordinator.settle(own, TRANSACTIONAL_ID)
        producer = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": TRANSACTIONAL_ID}
        )
        producer.init_transactions(TIMEOUT_S)

        txn = coordinator.begin()
        branch = txn.enlist(own, TRANSACTIONAL_ID, "v1")
        producer.begin_transaction()
        producer.produce(topic, b"an order", on_delivery=branch.counting())
        producer.flush(TIMEOUT_S)
        txn.send(managed, topic, b"an order")
        try:
            print(f"{txn.commit()} is on both clusters")
            # Only now, and a harmless repeat: the producer goes on with its next transaction.
            producer.commit_transaction(TIMEOUT_S)
        except gtc.AbortedError as error:
            print(error, file=sys.stderr)
            producer.abort_transaction(TIMEOUT_S)
        if branch.finished() == "discard":
            print("this producer has to be closed and made anew")


if __name__ == "__main__":
    main(*sys.argv[1:])
