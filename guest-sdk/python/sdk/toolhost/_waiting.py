"""Runs coroutines to their end within one call."""

import sys
import time
from collections.abc import Coroutine
from types import ModuleType
from typing import Any


def finish(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Runs a coroutine to its end and returns its result."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None:
        return asyncio.run(coroutine)
    # Without asyncio it has nothing to wait for, and runs to its end.
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("the handler awaits something that never completes")


class Clock:
    """Replaces the selector of an event loop that waits only for time."""

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("the handler awaits something that never completes")
        if timeout:
            time.sleep(timeout)
        return []


# An event loop that no call has used.
_prepared: list[Any] = []


def prepare_loop() -> None:
    """Makes an event loop, so that a call need not."""
    if asyncio := sys.modules.get("asyncio"):
        _prepared.append(asyncio.EventLoop())


def settle_asyncio(asyncio: ModuleType, selector: type = Clock, connections: tuple[type, ...] = ()) -> None:
    """Gives asyncio an event loop without sockets, which can wait only for time, and for what a selector knows.

    `connections` are classes with the methods that make connections.
    """

    class Loop(*connections, asyncio.BaseEventLoop):
        def __init__(self) -> None:
            super().__init__()
            self._selector = selector()

        def _process_events(self, event_list: list[Any]) -> None:
            for then in event_list:
                then()

        def _write_to_self(self) -> None:
            pass

        async def _make_subprocess_transport(self, *_: Any, **__: Any) -> Any:
            import subprocess

            return subprocess.Popen([])  # Raises the error that there are no processes.

    def new_event_loop() -> Loop:
        return _prepared.pop() if _prepared else Loop()

    asyncio.EventLoop = asyncio.SelectorEventLoop = Loop
    asyncio.events._event_loop_policy = None
    asyncio.events.new_event_loop = asyncio.new_event_loop = new_event_loop
    asyncio.runners.events.new_event_loop = new_event_loop
