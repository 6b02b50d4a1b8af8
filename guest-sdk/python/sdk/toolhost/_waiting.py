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


def settle_asyncio(asyncio: ModuleType, selector: type | None = None, connections: tuple[type, ...] = ()) -> None:
    """Gives asyncio an event loop without sockets, which can wait only for time, and for what a selector knows.

    `connections` are classes with the methods that make connections.
    """

    class Clock:
        """Replaces the selector of an event loop."""

        def select(self, timeout: float | None) -> list[Any]:
            if timeout is None:
                raise RuntimeError("the handler awaits something that never completes")
            time.sleep(timeout)
            return []

    class Loop(*connections, asyncio.BaseEventLoop):
        def __init__(self) -> None:
            super().__init__()
            self._selector = (selector or Clock)()

        def _process_events(self, event_list: list[Any]) -> None:
            for call in event_list:
                self.call_soon(call)

        def _write_to_self(self) -> None:
            pass

        async def _make_subprocess_transport(self, *_: Any, **__: Any) -> Any:
            import subprocess

            return subprocess.Popen([])  # Raises the error that there are no processes.

    asyncio.EventLoop = asyncio.SelectorEventLoop = Loop
    asyncio.events._event_loop_policy = None
    asyncio.events.new_event_loop = asyncio.new_event_loop = Loop
    asyncio.runners.events.new_event_loop = Loop
