"""Coroutines, run to their end within one call."""

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
    # Without asyncio there is nothing to wait for: it runs through.
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("the handler awaits something that nothing here ever wakes")


def settle_asyncio(asyncio: ModuleType) -> None:
    """Gives asyncio a loop for a world without sockets: all that it can wait for is time."""

    class Clock:
        """Stands where a loop has its selector."""

        def select(self, timeout: float | None) -> list[Any]:
            if timeout is None:
                raise RuntimeError("the handler awaits something that nothing here ever wakes")
            time.sleep(timeout)
            return []

    class Loop(asyncio.BaseEventLoop):
        def __init__(self) -> None:
            super().__init__()
            self._selector = Clock()

        def _process_events(self, event_list: list[Any]) -> None:
            pass

        def _write_to_self(self) -> None:
            pass

        async def _make_subprocess_transport(self, *_: Any, **__: Any) -> Any:
            import subprocess

            return subprocess.Popen([])  # Says that there are no processes here.

    asyncio.EventLoop = asyncio.SelectorEventLoop = Loop
    asyncio.events._event_loop_policy = None
    asyncio.events.new_event_loop = asyncio.new_event_loop = Loop
    asyncio.runners.events.new_event_loop = Loop
