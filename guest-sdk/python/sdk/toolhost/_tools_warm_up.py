"""Calls tools while a component is built, through a host that is a constant: this fills the interpreter's caches."""

import asyncio
import contextlib
from typing import Any

from componentize_py_types import Err, Ok

from . import _pollables, _tools
from ._failure import ToolCallError

# The interpreter adapts a function in its first calls.
_TIMES = 16


class _Handle:
    """A handle that is ready at once."""

    def __enter__(self) -> "_Handle":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def block(self) -> None:
        pass


class _Call(_Handle):
    def __init__(self, name: str) -> None:
        self._name = name

    def subscribe(self) -> _Handle:
        return _Handle()

    def get(self) -> Any:
        return Ok('{"a": [1, "b", null]}') if self._name == "a-b__c" else Err(_Failure())


class _Failure:
    message = suggestion = "x"
    code = None
    parameters = '{"type": "object"}'


class _Host:
    def names(self) -> list[str]:
        return ["a-b__c"]

    def start(self, name: str, arguments: str) -> _Call:
        return _Call(name)


def warm_up() -> None:
    """Makes calls in each way."""
    waits = _pollables.wait_for
    _pollables.wait_for = lambda pollables, timeout: [*range(len(pollables))]
    loop = asyncio.EventLoop()
    try:
        for _ in range(_TIMES):
            tools = _tools.Tools(_Host())
            tools["a-b__c"](path="a.txt", n=1)
            tools.a_b.c({"path": "a.txt"})
            with contextlib.suppress(ToolCallError):
                tools.call("a__b")
            loop.run_until_complete(_warm_up(tools))
    finally:
        _pollables.wait_for = waits
        loop.close()


async def _warm_up(tools: _tools.Tools) -> None:
    await tools["a-b__c"](path="a.txt")
    await asyncio.gather(*(tools["a-b__c"](n=n) for n in range(4)))
    async with asyncio.TaskGroup() as group:
        group.create_task(tools["a-b__c"]())
