"""The one exception class that all kinds derive from."""

from __future__ import annotations

from typing import ClassVar, Optional


class GtcError(Exception):
    """An error of gtc: decide by its class and by `retry`; the text is for people and no API."""

    kind: ClassVar[str]
    """The name of the kind, the same in every language."""

    code: ClassVar[int]
    """The number of the kind, the same in every language."""

    retry: str
    """Whether asking again helps: `never`, `later` or `after-resolve`."""

    operation: str
    """The call or step that failed."""

    participant: Optional[str]
    """The participant concerned, if it is one."""

    transaction: Optional[str]
    """The id of the transaction concerned: keep it where the error is an `InDoubtError`."""

    problem: str
    """What went wrong, without the names around it."""

    remedy: str
    """What to do about it."""

    def __init__(
        self,
        message: str,
        retry: str = "never",
        operation: str = "",
        participant: Optional[str] = None,
        transaction: Optional[str] = None,
        problem: str = "",
        remedy: str = "",
    ) -> None:
        super().__init__(message)
        self.retry = retry
        self.operation = operation
        self.participant = participant
        self.transaction = transaction
        self.problem = problem
        self.remedy = remedy
