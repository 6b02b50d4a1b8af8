"""The other tools of the step, which a handler may call through `goondan:tool/tools`."""

import asyncio
import json
import keyword
from asyncio.events import _get_running_loop
from collections import deque
from collections.abc import Generator, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any

from componentize_py_types import Err

from ._failure import ToolCallError
from ._plain import typed_text
from ._waiting import finish

# Calls that run at once, where the policy says nothing else. More wait here: the host would refuse them.
_AT_ONCE = 16

_scan = json.JSONDecoder().scan_once

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
        self._calls: Calls | None = None
        self._aliases: dict[str, dict[str, list[str]]] | None = None
        # Those that were asked for.
        self._functions: dict[str, Function] = {}

    def __getitem__(self, name: str) -> "Function":
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = Function(self, name)
        return function

    def __getattr__(self, name: str) -> "Group":
        # Aliases begin with `_` only before a digit.
        if name.startswith("_") and not name[1:2].isdigit():
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return Group(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._by_alias()]

    def call(self, name: str, arguments: Mapping[str, Any] | None = None, /) -> Any:
        """Calls a tool. In `async def`, await it."""
        request = Function(self, name)._request(arguments)
        return self._wait(*request) if _get_running_loop() is None else self._await(*request)

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

    def search(self, text: str, limit: int = 5) -> "List":
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
        pollable = call.subscribe()
        pollable.block()
        # The second handle is of the first, and dropped before it.
        pollable.__exit__(None, None, None)
        result = call.get()
        call.__exit__(None, None, None)
        return _output(name, result)

    async def _await(self, name: str, arguments: str) -> Any:
        """Calls a tool while other tasks run."""
        loop: Any = _get_running_loop()
        selector = loop._selector
        if not (loop._ready or loop._scheduled or selector._waiting):
            # No task, timer or connection could do anything meanwhile.
            return self._wait(name, arguments)
        calls = self._calls
        if calls is None or calls.loop is not loop:
            calls = self._calls = Calls(self._host, loop)
        ended = calls.start(name, arguments)
        try:
            return _output(name, await ended)
        except asyncio.CancelledError:
            calls.cancel(ended)
            raise

    async def _every(self, requests: list[tuple[str, str]], return_exceptions: bool) -> list[Any]:
        return await asyncio.gather(*(self._await(*it) for it in requests), return_exceptions=return_exceptions)


class List(list[Any]):
    """A list that may be awaited, as calls are."""

    def __await__(self) -> Generator[None, None, "List"]:
        return self
        yield


class Dict(dict[str, Any]):
    """A dict that may be awaited, as calls are."""

    def __await__(self) -> Generator[None, None, "Dict"]:
        return self
        yield


class Calls:
    """The calls of an event loop that run, and those that wait for one of them to end."""

    def __init__(self, host: Any, loop: Any) -> None:
        self.loop = loop
        self._host = host
        self._most = _AT_ONCE
        # The handles of each, by the future of its result. The second is of the first, and dropped before it.
        self._running: dict[asyncio.Future[Any], tuple[Any, Any]] = {}
        self._waiting: deque[tuple[asyncio.Future[Any], str, str]] = deque()

    def start(self, name: str, arguments: str) -> "asyncio.Future[Any]":
        """Starts a call, now or once there is room for it; returns the future of its result."""
        ended = self.loop.create_future()
        self._waiting.append((ended, name, arguments))
        self._start_more()
        return ended

    def cancel(self, ended: "asyncio.Future[Any]") -> None:
        """Drops the call of a future that was cancelled."""
        if handles := self._running.pop(ended, None):
            self.loop._selector.remove(ended)
            for handle in reversed(handles):
                handle.__exit__(None, None, None)
            self._start_more()

    def _start_more(self) -> None:
        while self._waiting and len(self._running) < self._most:
            ended, name, arguments = self._waiting.popleft()
            if ended.done():
                continue
            try:
                call = self._host.start(name, arguments)
            except Err as error:
                if _error(name, error.value).code == _LIMIT and self._running:
                    # The policy allows fewer at once.
                    self._most = len(self._running)
                    self._waiting.appendleft((ended, name, arguments))
                    return
                ended.set_result(error)
                continue
            pollable = call.subscribe()
            self._running[ended] = (call, pollable)
            self.loop._selector.add(ended, pollable, partial(self._end, ended))

    def _end(self, ended: "asyncio.Future[Any]") -> None:
        call, pollable = self._running.pop(ended)
        pollable.__exit__(None, None, None)
        if not ended.done():
            ended.set_result(call.get())
        call.__exit__(None, None, None)
        self._start_more()


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


class Unlisted(Function):
    """A name that is not among those that may be called: the host says whether it is denied, or there is none."""

    __slots__ = ("_absent",)

    def __init__(self, tools: Tools, name: str, absent: str) -> None:
        super().__init__(tools, name)
        self._absent = absent

    def __call__(self, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Any:
        try:
            made = super().__call__(arguments, **named)
        except ToolCallError as error:
            raise self._error(error) from None
        return made if _get_running_loop() is None else self._await(made)

    async def _await(self, made: Any) -> Any:
        try:
            return await made
        except ToolCallError as error:
            raise self._error(error) from None

    def _error(self, error: ToolCallError) -> Exception:
        return AttributeError(self._absent) if error.code == "E_TOOL_NOT_IN_CATALOG" else error


class Group:
    """The handlers of a tool, by their aliases."""

    __slots__ = ("_functions", "_alias", "_tools")

    def __init__(self, tools: Tools, alias: str) -> None:
        self._tools = tools
        self._alias = alias
        handlers = tools._by_alias().get(alias, {})
        self._functions = {it: [Function(tools, name) for name in names] for it, names in handlers.items()}

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        raise AttributeError(self._absent("") or f"`{self._alias}` is no function; it has {', '.join(self._functions)}")

    def __getattr__(self, name: str) -> Function:
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        functions = self._functions.get(name)
        if functions is None:
            return Unlisted(self._tools, f"{_part(self._alias)}__{_part(name)}", self._absent(name))
        if len(functions) > 1:
            raise AttributeError(f"`{self._alias}.{name}` is one of {', '.join(it.name for it in functions)}: use its name")
        return functions[0]

    def _absent(self, name: str) -> str:
        """Says that there is no such handler, or no tool at all."""
        alias, name = _short(self._alias), _short(name)
        if not self._functions:
            return f"no tool has the alias `{alias}`{_nearest(alias, self._tools._by_alias())}"
        return name and f"`{alias}` has no handler `{name}`{_nearest(name, self._functions)}"

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


def _part(alias: str) -> str:
    """Returns the part of a name in the form of an alias: with `_` for `-`."""
    return alias[1:] if alias[:1] == "_" else alias[:-1] if alias[-1:] == "_" and keyword.iskeyword(alias[:-1]) else alias


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
    text = result.value
    # As json.loads, without looking for spaces around the value, of which most have none.
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        end = None
    return value if end == len(text) else json.loads(text)


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
