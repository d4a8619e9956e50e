"""Waiting for what the native module does, with and without an event loop."""

from __future__ import annotations

import asyncio
from typing import Any, Optional, TypeVar, Union

from . import _native

T = TypeVar("T")


def wait(result: Union[T, _native.Pending[T]]) -> T:
    """The value, without the interpreter's lock while it is not there; Ctrl-C works."""
    return result.wait() if isinstance(result, _native.Pending) else result


async def wait_async(result: Union[T, _native.Pending[T]]) -> T:
    """The value, awaited. Cancelling gives up what can be given up without harm."""
    return await wait_pending(result) if isinstance(result, _native.Pending) else result


async def wait_pending(pending: _native.Pending[T]) -> T:
    """As `wait_async`, for a value that is not there yet."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(value: Any, error: Optional[BaseException]) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def on_done(value: Any, error: Optional[BaseException]) -> None:
        try:
            loop.call_soon_threadsafe(settle, value, error)
        except RuntimeError:
            # The loop was closed meanwhile: nobody waits any more.
            pass

    canceller = pending.on_done(on_done)
    try:
        return await future
    finally:
        canceller.cancel()
