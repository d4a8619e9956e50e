"""The licences of what is linked in are in the package."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

PYTHON = Path(__file__).parent.parent


def test_licences_are_in_the_package() -> None:
    for name, word in [("THIRD-PARTY-NOTICES", "librdkafka"), ("LICENSE", "Apache")]:
        found = distribution("gtc").read_text(f"licenses/{name}")
        assert found and word in found, name
        assert found == (PYTHON / name).read_text(), name
