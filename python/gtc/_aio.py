"""The coordinator for asyncio."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import AsyncIterator, Iterable, List, Optional, Tuple, Type, Union

from . import _native
from ._kinds import ClosedError
from ._native import Batch, Record
from ._types import (
    ConfigSource,
    Finding,
    ForeignInfo,
    Headers,
    Lag,
    Notice,
    Outcome,
    Payload,
    Status,
    TransactionInfo,
    encoded,
    names,
    source,
    status,
    transaction_info,
)
from ._sync import Deliveries
from ._wait import wait_async as wait
from ._wait import wait_pending

logger = logging.getLogger("gtc")


class AsyncCoordinator:
    """Commits global transactions over its participants. It belongs to no event loop.

    As a context manager it closes itself at the end.
    """

    def __init__(self, native: _native.Coordinator) -> None:
        self._native = native

    @classmethod
    async def open(
        cls, config: Optional[ConfigSource] = None, *, toml: Optional[str] = None
    ) -> AsyncCoordinator:
        """Opens the decision log, connects to the participants, and starts the recovery of what an
        earlier start left open. New work may begin beside it.

        `config` is the path of a TOML file, or the configuration as nested dictionaries; `toml`
        is its text.

        Raises `ConfigError`, `LogError` (also where another process owns the log), `FencedError`.
        """
        return cls(await wait(_native.open(*source(config, toml))))

    @property
    def id(self) -> str:
        """Its id."""
        return self._native.id

    def begin(
        self, key: Union[bytes, str, None] = None, *, timeout_s: Optional[float] = None
    ) -> AsyncTransaction:
        """Begins a transaction. A key of the application's lets it ask for the outcome after a
        crash; with a time-out the transaction aborts by itself when it was not asked to commit in
        time.

        Raises `UnavailableError` where a limit is reached, `ClosedError`.
        """
        return AsyncTransaction(self._native.begin(encoded(key), timeout_s))

    def transaction(
        self, key: Union[bytes, str, None] = None, *, timeout_s: Optional[float] = None
    ) -> AsyncTransaction:
        """As `begin`, to be used in a `async with` statement: commits at its end, aborts on an
        exception."""
        return self.begin(key, timeout_s=timeout_s)

    async def consumer(
        self,
        participant: str,
        group: str,
        topics: Union[str, Iterable[str]],
        *,
        reset: str = "earliest",
        instance: Optional[str] = None,
        records_max: Optional[int] = None,
        bytes_max: Optional[int] = None,
        linger_s: Optional[float] = None,
    ) -> AsyncConsumer:
        """Makes a consumer of one participant, whose offsets can be sent into transactions. It
        reads with read_committed, and commits nothing by itself.

        Topics that begin with `^` are patterns. `reset` (`earliest`, `latest` or `fail`) says what
        happens where the cluster does not have a position. `instance` makes it a static member of
        the group, in the place of whoever has that name: after a crash its partitions are read
        again at once. A batch is full at `records_max` records or `bytes_max` bytes, or when its first
        record has waited for `linger_s` seconds.

        Raises `ConfigError`, `ClosedError`.
        """
        limits = (records_max, bytes_max, linger_s)
        made = self._native.consumer(
            participant, group, names(topics), reset, instance, limits
        )
        return AsyncConsumer(await wait(made))

    async def settle(self, participant: str, transactional_id: str) -> None:
        """Waits until no promised branch of this own producer is left. A restarted application
        calls it before it initialises the producer again, which would abort a promised branch."""
        await wait(self._native.settle(participant, transactional_id))

    def outcome(self, id: str) -> str:
        """Tells how a transaction ended: committed, aborted, undecided, in-doubt, mixed or
        unknown. Unknown is not aborted: a transaction that committed in one phase leaves no
        record."""
        return self._native.outcome(id)

    def outcome_by_key(self, key: Union[bytes, str]) -> Optional[Outcome]:
        """Finds the newest transaction with this key of the application's, and tells how it
        ended."""
        found = self._native.outcome_by_key(encoded(key) or b"")
        return Outcome(*found) if found else None

    def list(self) -> List[TransactionInfo]:
        """Lists the transactions that are not ended, or ended otherwise than decided."""
        return [transaction_info(raw) for raw in self._native.list()]

    def in_doubt(self) -> List[TransactionInfo]:
        """Lists the transactions that need a hand: in doubt, or mixed. Empty when all is well."""
        return [transaction_info(raw) for raw in self._native.in_doubt()]

    def describe(self, id: str) -> Optional[TransactionInfo]:
        """Describes one transaction with its branches, also an ended one within the retention."""
        raw = self._native.describe(id)
        return transaction_info(raw) if raw else None

    def foreign(self) -> List[ForeignInfo]:
        """Lists open branches that another log left under this coordinator's id: in doubt until an
        operator resolves them."""
        return [ForeignInfo(**raw) for raw in self._native.foreign()]

    def resolve(self, id: str, decision: str) -> None:
        """Ends a transaction that cannot end by itself. Commit: its branches are tried again now.
        Abort: the open branches are given up, as a heuristic outcome."""
        self._native.resolve(id, decision)

    async def resolve_foreign(
        self, participant: str, transactional_id: str, decision: str
    ) -> None:
        """Ends an open branch of another log."""
        await wait(self._native.resolve_foreign(participant, transactional_id, decision))

    def forget(self, id: str) -> None:
        """Stops listing a mixed outcome, once an operator has dealt with it."""
        self._native.forget(id)

    async def recover(self) -> None:
        """Waits until everything that the log left open is ended."""
        await wait(self._native.recover())

    async def verified(self, participant: str) -> None:
        """Waits until a participant takes branches."""
        await wait(self._native.verified(participant))

    async def check(
        self, participants: Iterable[str] = (), *, group: Optional[str] = None
    ) -> List[Finding]:
        """Connects to each participant and tells what is missing for the guarantee, each with its
        remedy."""
        found = await wait(self._native.check(list(participants), group))
        return [Finding(**finding) for finding in found]

    def status(self) -> Status:
        """Tells how the coordinator and its participants stand."""
        return status(self._native.status())

    async def close(self) -> None:
        """Accepts nothing new, aborts what is undecided, waits for what is under way, closes the
        consumers, and gives the log up. Closing twice does no harm.

        Raises `TimeoutError` of this package with the number of transactions that stay open,
        which the next start finishes; `LogError` if its last write failed.
        """
        await wait(self._native.close())

    async def __aenter__(self) -> AsyncCoordinator:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()


class AsyncTransaction:
    """A global transaction. In a `async with` statement it commits at the end, and aborts on an
    exception; what was ended inside stays as it is. Let go undecided, it asks for its abort.

    Several tasks may write at once.
    """

    def __init__(self, native: _native.Transaction) -> None:
        self._native = native
        self._asked = False

    @property
    def id(self) -> str:
        """Its id: keep it where the outcome may have to be asked for."""
        return self._native.id

    async def send(
        self,
        participant: str,
        topic: str,
        value: Payload = None,
        *,
        key: Payload = None,
        headers: Optional[Headers] = None,
        partition: Optional[int] = None,
        timestamp_ms: Optional[int] = None,
    ) -> None:
        """Sends a record to a participant, which joins the transaction by that. Waits for a free
        slot, and while the producer's queue is full; does not wait for the delivery.

        A value of `None` is a tombstone; without a partition the partitioner chooses.

        Raises `ConfigError` for an unknown participant, `UnavailableError`, `TimeoutError` of
        this package, `FencedError`, `ClosedError`, or how the transaction ended.
        """
        sent = self._native.send(
            participant, topic, value, key, headers, partition, timestamp_ms
        )
        if sent is not None:
            await wait_pending(sent)

    async def send_many(self, participant: str, records: Iterable[Record]) -> None:
        """Sends records to a participant, in their order. If one is refused, the later ones are
        not sent."""
        await wait(self._native.send_many(participant, records))

    async def send_offsets(self, batch: Union[AsyncConsumer, Batch]) -> None:
        """Moves the consumer's group behind the batch when the transaction commits. The batch is
        done with that; if the transaction aborts, its records are read again.

        A consumer stands for the batch that it has handed out last.
        """
        if isinstance(batch, AsyncConsumer):
            await wait(self._native.send_offsets_of(batch._native))
        else:
            await wait(self._native.send_offsets(batch))

    async def enlist(
        self,
        participant: str,
        transactional_id: str,
        version_class: str = "v1",
        *,
        identity: Optional[Tuple[int, int]] = None,
    ) -> AsyncOwnBranch:
        """Takes an own producer of the application in, before it begins its transaction. What is
        told to the returned branch about its deliveries is its vote, and silence is a no.

        The version class is `v1` for every client that builds on librdkafka. The identity is the
        producer id and epoch that the producer has, where the client tells them: it is refused
        if the cluster has another producer under that transactional.id.

        Raises `InvalidStateError` for a producer that has written already, was to be discarded or
        has another identity.
        """
        enlisted = self._native.enlist(participant, transactional_id, version_class, identity)
        return AsyncOwnBranch(await wait(enlisted))

    async def commit(self, *, at_decision: bool = False) -> str:
        """Commits on every participant, or on none. Waits for all deliveries, and for the last
        acknowledgement. In doubt means that it may have committed: ask for the outcome before
        running it again.

        Gives back the id. With `at_decision` it returns once the decision is durable: readers may
        see the records a moment later.

        Raises `AbortedError`: nothing is visible. `InDoubtError`: ask for the outcome.
        `HeuristicError`: a branch ended otherwise than decided.
        """
        self._asked = True
        return await wait(self._native.commit(at_decision))

    async def abort(self, reason: str = "the application aborted") -> None:
        """Aborts on every participant, and waits until all have done so. Deliveries that an own
        producer counts as open are waited for first: whether it may go on rests on them."""
        self._asked = True
        await wait(self._native.abort(reason))

    async def close(self) -> None:
        """Aborts the transaction if it was not asked to commit or abort; else does nothing."""
        self._asked = True
        await wait(self._native.close())

    async def __aenter__(self) -> AsyncTransaction:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if self._asked:
            return
        if kind is None:
            await self.commit()
            return
        try:
            await self.abort(f"the application raised {kind.__name__}")
        except Exception as failure:  # the application's own exception goes first
            logger.warning("aborting transaction %s: %s", self.id, failure)


class AsyncConsumer:
    """A consumer whose offsets travel inside transactions. Iterating hands out batches, and ends
    when it is closed; it is for one task at a time.

    As a context manager it closes itself at the end.
    """

    def __init__(self, native: _native.Consumer) -> None:
        self._native = native

    @property
    def participant(self) -> str:
        """The participant it reads from."""
        return self._native.participant

    async def next(self, timeout_s: Optional[float] = None) -> Optional[Batch]:
        """Waits for the next batch, or until the time-out passes. A batch whose offsets were not
        sent is read again: nothing is skipped.

        Raises `ClosedError`; `InDoubtError` where a transaction with offsets of this consumer has
        not told how it ended: close it, and make a new one, which waits for the outcome;
        `InvalidStateError` where a partition waits for `resume_at`.
        """
        return await wait(self._native.next(timeout_s))

    def lag(self) -> List[Lag]:
        """Tells how far each assigned partition is behind, as of the last statistics."""
        return [Lag(*lag) for lag in self._native.lag()]

    def is_caught_up(self) -> bool:
        """Whether everything that can be read now was handed out.

        Ask after `next` has found nothing: records may be on their way to it.
        """
        return self._native.is_caught_up()

    def notices(self) -> List[Notice]:
        """Hands out what happened beside the batches: partitions assigned or revoked, records
        lost, requests refused."""
        return [Notice(*notice) for notice in self._native.notices()]

    async def resume_at(self, topic: str, partition: int, offset: int) -> None:
        """Goes on at an offset with a partition whose position the cluster no longer has."""
        await wait(self._native.resume_at(topic, partition, offset))

    async def close(self) -> None:
        """Leaves the group and ends the consumer. Closing twice does no harm."""
        await wait(self._native.close())

    def __aiter__(self) -> AsyncIterator[Batch]:
        return self

    async def __anext__(self) -> Batch:
        try:
            batch = await self.next()
        except ClosedError:
            raise StopAsyncIteration from None
        assert batch is not None
        return batch

    async def __aenter__(self) -> AsyncConsumer:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()


class AsyncOwnBranch(Deliveries):
    """The branch of an own producer.

    Only after the transaction's outcome may the producer call its own commit or abort, which is
    then a harmless repeat.
    """

    async def finished(self) -> str:
        """Waits until the branch is ended, and tells whether the producer may go on: reuse, or
        discard, which means to close it and make a new one.

        Raises `InDoubtError` if the branch is not ended when the transaction is for its caller:
        discard the producer, and settle its transactional.id before making a new one.
        """
        return await wait(self._native.finished())
