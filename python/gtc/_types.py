"""What the verbs take and give back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

from ._config import Config

Payload = Union[bytes, str, None]
"""A key or a value. Text is written as UTF-8; `None` differs from empty."""

Headers = Union[Mapping[str, Payload], Iterable[Tuple[str, Payload]]]
"""Headers in their order; pairs where a name comes twice."""

ConfigSource = Union[str, "os.PathLike[str]", Config]
"""The path of a TOML file, or the configuration itself as nested dictionaries."""


class Outcome(NamedTuple):
    """The newest transaction with a key, and how it ended."""

    id: str
    outcome: str


class Position(NamedTuple):
    """The next offset to read of a partition."""

    topic: str
    partition: int
    offset: int


class Lag(NamedTuple):
    """How far a partition is behind."""

    topic: str
    partition: int
    position: Optional[int]
    """The next offset to read, once it is known."""
    end: int
    """The end of what can be read."""


class Notice(NamedTuple):
    """Something that happened beside the batches."""

    kind: str
    """`assigned`, `revoked`, `out-of-range` or `trouble`."""
    text: str
    partitions: List[Tuple[str, int]]


@dataclass(frozen=True)
class BranchInfo:
    """One participant's part of a transaction."""

    participant: str
    transactional_id: Optional[str]
    state: str
    detail: Optional[str]
    """The last error, or the evidence."""


@dataclass(frozen=True)
class TransactionInfo:
    """A transaction as operators see it."""

    id: str
    key: Optional[bytes]
    """The application's key."""
    state: str
    decision: Optional[str]
    """`commit` or `abort`, once it is decided."""
    since_unix_ms: int
    """When it was decided (or began), in milliseconds since the Unix epoch."""
    branches: List[BranchInfo]


@dataclass(frozen=True)
class ForeignInfo:
    """An open branch that another log left under this coordinator's id."""

    participant: str
    transactional_id: str
    state: str


@dataclass(frozen=True)
class ParticipantInfo:
    """How a participant stands."""

    name: str
    state: str
    """`starting`, `verified`, `unavailable` or `stopped`."""
    detail: Optional[str]
    slots_open: int
    slots_free: int
    waiting: int


@dataclass(frozen=True)
class Status:
    """How a coordinator stands."""

    coordinator: str
    incarnation: int
    recovered: bool
    """Whether everything that the log left open is ended."""
    stopped: Optional[str]
    """Why it stopped for good, if it did."""
    participants: List[ParticipantInfo]
    open: int
    """Transactions that are not ended, or ended otherwise than decided."""


@dataclass(frozen=True)
class Finding:
    """One precondition of the guarantee on one participant."""

    participant: str
    check: str
    level: str
    """`ok`, `warn` or `fail`."""
    detail: str
    remedy: Optional[str]


def transaction_info(raw: Mapping[str, Any]) -> TransactionInfo:
    key = raw["key"]
    branches = [BranchInfo(**branch) for branch in raw["branches"]]
    return TransactionInfo(
        **{**raw, "key": None if key is None else bytes(key), "branches": branches}
    )


def status(raw: Mapping[str, Any]) -> Status:
    participants = [ParticipantInfo(**one) for one in raw["participants"]]
    return Status(**{**raw, "participants": participants})


def source(
    config: Optional[ConfigSource], toml: Optional[str]
) -> Tuple[str, str, List[Tuple[str, str]]]:
    """A configuration as the native module takes it."""
    if (config is None) == (toml is None):
        raise TypeError("either a configuration or the text of one is wanted")
    if toml is not None:
        return ("toml", _text("toml", toml), [])
    if isinstance(config, Mapping):
        return ("values", "", list(_flatten("", config)))
    if isinstance(config, (str, os.PathLike)):
        return ("file", _text("the path", os.fspath(config)), [])
    raise _unwanted("config", "the path of a file or a mapping", config)


def _text(what: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise _unwanted(what, "a str", value)


def _unwanted(what: str, wanted: str, value: object) -> TypeError:
    return TypeError(f"{what}: {wanted} is wanted, and not {type(value).__name__}")


def _flatten(prefix: str, values: Mapping[str, Any]) -> Iterable[Tuple[str, str]]:
    for key, value in values.items():
        name = prefix + _text(f"a key of {prefix or 'the configuration'}", key)
        if isinstance(value, Mapping):
            yield from _flatten(f"{name}.", value)
        elif isinstance(value, bool):
            yield (name, "true" if value else "false")
        elif isinstance(value, (str, int, float)):
            yield (name, str(value))
        elif isinstance(value, os.PathLike):
            yield (name, _text(name, os.fspath(value)))
        else:
            raise _unwanted(name, "a str, a number, a bool or a path", value)


def encoded(key: Union[bytes, str, None]) -> Optional[bytes]:
    """The application's key of a transaction."""
    return key.encode() if isinstance(key, str) else key


def names(topics: Union[str, Iterable[str]]) -> List[str]:
    """One name or several."""
    return [topics] if isinstance(topics, str) else list(topics)


Limits = Tuple[Optional[int], Optional[int], Optional[float]]
Raw = Dict[str, Any]
