"""Two real clusters, which `cargo xtask languages python` starts and names in the environment."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import gtc

PATIENCE_S = 60
ENVIRONMENT = "GTC_TEST_CLUSTERS"
_numbers = itertools.count(1)


class World:
    """The clusters `eu` and `us`, and names that no other test has."""

    def __init__(self, directory: Path, clusters: Dict[str, str]) -> None:
        self.directory = directory
        self.clusters = clusters
        self.name = f"python-{os.getpid()}-{next(_numbers)}"

    def config(self) -> gtc.Config:
        participants: Dict[str, gtc.ParticipantConfig] = {
            name: {"kind": "kafka", "slots": 4, "bootstrap.servers": bootstrap}
            for name, bootstrap in self.clusters.items()
        }
        log = str(self.directory / "log")
        return {"coordinator": {"id": self.name, "log": log}, "participants": participants}

    def config_file(self) -> str:
        """The same configuration as a file."""
        lines = ["[coordinator]", f'id = "{self.name}"', 'log = "log"']
        for name, bootstrap in self.clusters.items():
            lines += [f"[participants.{name}]", 'kind = "kafka"', "slots = 4"]
            lines += [f'bootstrap.servers = "{bootstrap}"']
        path = self.directory / "gtc.toml"
        path.write_text("\n".join(lines))
        return str(path)

    def topic(self, suffix: str = "") -> str:
        """Makes a topic with one partition on both clusters."""
        topic = self.name + suffix
        for bootstrap in self.clusters.values():
            admin = AdminClient({"bootstrap.servers": bootstrap})
            for made in admin.create_topics([NewTopic(topic, 1, 1)]).values():
                made.result(PATIENCE_S)
        return topic

    def write(self, cluster: str, topic: str, values: List[bytes]) -> None:
        """Writes records outside of any transaction."""
        producer = confluent_kafka.Producer({"bootstrap.servers": self.clusters[cluster]})
        for value in values:
            producer.produce(topic, value)
        assert producer.flush(PATIENCE_S) == 0

    def committed(self, cluster: str, topic: str) -> List[Optional[bytes]]:
        """The values that a read_committed reader sees."""
        return [message.value() for message in self.messages(cluster, topic)]

    def messages(self, cluster: str, topic: str) -> List[confluent_kafka.Message]:
        """The records that a read_committed reader sees, up to the end of the partition."""
        settings = {
            "bootstrap.servers": self.clusters[cluster],
            "group.id": "reader",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
        consumer = confluent_kafka.Consumer(settings)
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        found = []
        try:
            while True:
                message = consumer.poll(PATIENCE_S)
                assert message is not None, "the last stable offset is stuck"
                error = message.error()
                if error is None:
                    found.append(message)
                elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                    return found
                else:
                    raise confluent_kafka.KafkaException(error)
        finally:
            consumer.close()


def clusters() -> Dict[str, str]:
    named = os.environ.get(ENVIRONMENT)
    if not named:
        pytest.exit(
            f"{ENVIRONMENT} names no clusters: run `cargo xtask languages python`, or set it to "
            "eu=HOST:PORT us=HOST:PORT",
            returncode=2,
        )
    pairs: List[Tuple[str, ...]] = [tuple(pair.split("=", 1)) for pair in named.split()]
    return {name: bootstrap for name, bootstrap in pairs}


def pytest_sessionstart() -> None:
    clusters()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    yield World(tmp_path, clusters())
