"""The other tools of the step, which a handler may call through `goondan:tool/tools`."""

import asyncio
import json
import keyword
from asyncio.events import _get_running_loop
from collections import deque
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from componentize_py_types import Err

from ._failure import ToolCallError
from ._plain import typed_text
from ._pollables import wait_for
from ._waiting import finish

# Calls that run at once, where the policy says nothing else. More wait here: the host would refuse them.
_AT_ONCE = 16

_LIMIT = "E_TOOL_CALL_LIMIT"

# Names that are compared with one that does not exist.
_COMPARED = 2000


class Tools:
    """The tools of this step that the operator's policy lets this tool call.

    `tools["file-system__read"](path="a.txt")` calls one, and so does `tools.file_system.read(path="a.txt")`. Outside of
    `async def`, it returns the output; within, it returns a coroutine. A failure raises ToolCallError.
    """

    def __init__(self, host: Any) -> None:
        self._host = host
        self._slots: Slots | None = None
        self._aliases: dict[str, dict[str, list[str]]] | None = None

    def __getitem__(self, name: str) -> "Function":
        return Function(self, name)

    def __getattr__(self, name: str) -> "Group":
        # Aliases begin with `_` only before a digit.
        if name.startswith("_") and not name[1:2].isdigit():
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return Group(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._by_alias()]

    def call(self, name: str, arguments: Mapping[str, Any] | None = None, /) -> Any:
        """Calls a tool. In `async def`, await it."""
        return Function(self, name)(arguments)

    def gather(self, *calls: tuple[str, Mapping[str, Any]], return_exceptions: bool = False) -> Any:
        """Makes several calls, each `(name, arguments)`, at the same time, and returns their outputs in this order.

        For `def`: in `async def`, asyncio.gather does the same.
        """
        every = self._every([Function(self, name)._request(arguments) for name, arguments in calls], return_exceptions)
        return every if _get_running_loop() is not None else finish(every)

    def names(self) -> "List":
        """Returns the names of the tools that may be called, in the order of the catalog."""
        try:
            return List(self._host.names())
        except Err as error:
            raise _error(None, error.value) from None

    def describe(self, name: str) -> "Dict":
        """Returns `name`, `description`, `parameters` (a JSON Schema) and, where the tool says one, `outputSchema`."""
        try:
            return Dict(_described(self._host.describe(_name(name))))
        except Err as error:
            raise _error(name, error.value) from None

    def search(self, text: str, limit: int = 10) -> "List":
        """Returns the tools that fit a text, the best first; none if none fits. At most 50."""
        try:
            return List(_described(it) for it in self._host.search(text, min(max(0, limit), 50)))
        except Err as error:
            raise _error(None, error.value) from None

    def _by_alias(self) -> dict[str, dict[str, list[str]]]:
        if self._aliases is None:
            self._aliases = {}
            for name in self.names():
                tool, separator, handler = name.partition("__")
                if separator:
                    self._aliases.setdefault(_alias(tool), {}).setdefault(_alias(handler), []).append(name)
        return self._aliases

    def _wait(self, name: str, arguments: str) -> Any:
        """Calls a tool while nothing else runs."""
        try:
            call = self._host.start(name, arguments)
        except Err as error:
            raise _error(name, error.value) from None
        with call:
            with call.subscribe() as pollable:
                wait_for([pollable], None)
            return _output(name, call.get())

    async def _await(self, name: str, arguments: str) -> Any:
        """Calls a tool while other tasks run."""
        loop: Any = asyncio.get_running_loop()
        selector = loop._selector
        if not (loop._ready or loop._scheduled or selector._waiting):
            # No task, timer or connection could do anything meanwhile.
            return self._wait(name, arguments)
        slots = self._slots
        if slots is None or slots.loop is not loop:
            slots = self._slots = Slots(loop)
        with await slots.start(self._host, name, arguments) as call:
            try:
                with call.subscribe() as pollable:
                    await selector.ready(loop.create_future(), pollable)
                return _output(name, call.get())
            finally:
                slots.give_back()

    async def _every(self, requests: list[tuple[str, str]], return_exceptions: bool) -> list[Any]:
        return await asyncio.gather(*(self._await(*it) for it in requests), return_exceptions=return_exceptions)


class List(list[Any]):
    """A list that may be awaited, as calls are."""

    def __await__(self) -> Iterator[Any]:
        return self
        yield


class Dict(dict[str, Any]):
    """A dict that may be awaited, as calls are."""

    def __await__(self) -> Iterator[Any]:
        return self
        yield


class Slots:
    """How many calls may run at once in an event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._most = _AT_ONCE
        self._used = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def start(self, host: Any, name: str, arguments: str) -> Any:
        """Starts a call once there is a slot for it, which the caller must give back."""
        if self._used < self._most:
            self._used += 1
        else:
            await self._turn()
        while True:
            try:
                return host.start(name, arguments)
            except Err as error:
                failure = _error(name, error.value)
            if failure.code != _LIMIT or self._used == 1:
                self.give_back()
                raise failure
            # The policy allows fewer at once. A call that ends passes its slot on.
            self._most -= 1
            self._used -= 1
            await self._turn()

    def give_back(self) -> None:
        """Passes a slot on to the call that has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._used -= 1

    async def _turn(self) -> None:
        turn = self.loop.create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()
            raise


class Function:
    """A tool as a function."""

    __slots__ = ("_tools", "name")

    def __init__(self, tools: Tools, name: str) -> None:
        self._tools = tools
        self.name = _name(name)

    def __call__(self, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Any:
        request = self._request(arguments, named)
        return self._tools._wait(*request) if _get_running_loop() is None else self._tools._await(*request)

    def _request(self, arguments: Mapping[str, Any] | None, named: Mapping[str, Any] = {}) -> tuple[str, str]:
        """Returns the name, and the arguments as JSON."""
        if arguments is not None:
            if not isinstance(arguments, Mapping):
                raise TypeError(f"{self.name} takes its arguments by name, or as one dict")
            named = {**arguments, **named}
        return self.name, typed_text(named, "arguments")

    def __repr__(self) -> str:
        return f"<tool {self.name}>"


class Group:
    """The handlers of a tool, by their aliases."""

    __slots__ = ("_functions", "_alias")

    def __init__(self, tools: Tools, alias: str) -> None:
        aliases = tools._by_alias()
        if alias not in aliases:
            raise AttributeError(f"no tool has the alias `{_short(alias)}`{_nearest(_short(alias), aliases)}")
        self._alias = alias
        self._functions = {it: [Function(tools, name) for name in names] for it, names in aliases[alias].items()}

    def __getattr__(self, name: str) -> Function:
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        functions = self._functions.get(name)
        if functions is None:
            name = _short(name)
            raise AttributeError(f"`{self._alias}` has no handler `{name}`{_nearest(name, self._functions)}")
        if len(functions) > 1:
            raise AttributeError(f"`{self._alias}.{name}` is one of {', '.join(it.name for it in functions)}: use its name")
        return functions[0]

    def __dir__(self) -> list[str]:
        return [*self._functions]


def _name(name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the name of a tool is a text, not of type {type(name).__name__}")
    return name


def _alias(part: str) -> str:
    """Returns the identifier for a part of a tool's name, whose other characters are `-`."""
    part = part.replace("-", "_")
    return f"_{part}" if part[:1].isdigit() else f"{part}_" if keyword.iskeyword(part) else part


def _nearest(name: str, names: Mapping[str, Any]) -> str:
    found = get_close_matches(name, [*names][:_COMPARED])
    return f": did you mean {' or '.join(f'`{it}`' for it in found)}?" if found else f"; there are: {', '.join([*names][:20])}"


def _short(name: str) -> str:
    """Cuts a name that is longer than names of tools are."""
    return name if len(name) <= 64 else f"{name[:64]}…"


def _described(tool: Any) -> dict[str, Any]:
    found = {"name": tool.name, "description": tool.description, "parameters": json.loads(tool.parameters)}
    return found if tool.output_schema is None else {**found, "outputSchema": json.loads(tool.output_schema)}


def _output(name: str, result: Any) -> Any:
    if isinstance(result, Err):
        raise _error(name, result.value)
    return json.loads(result.value)


def _error(name: str | None, value: Any) -> ToolCallError:
    """Returns the exception for a `failure` or a `tool-error`."""
    error = getattr(value, "error", value)
    parameters = getattr(value, "parameters", None)
    return ToolCallError(
        error.message,
        code=error.code,
        suggestion=error.suggestion,
        parameters=None if parameters is None else json.loads(parameters),
        tool=name and _short(name),
    )
