"""The host's side of `goondan:tool/tools`, for tests without a component: import it before the kit's modules."""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

KIT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(KIT / "sdk"))


class Err(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass
class Ok:
    value: str


@dataclass
class ToolError:
    message: str
    code: str | None = None
    suggestion: str | None = None


@dataclass
class Failure:
    error: ToolError
    parameters: str | None = None


@dataclass
class Described:
    name: str
    description: str | None
    parameters: str
    output_schema: str | None


class Handle:
    """A handle that counts how many there are."""

    open = 0

    def __init__(self) -> None:
        Handle.open += 1

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *_: Any) -> None:
        Handle.open -= 1


class Pollable(Handle):
    def __init__(self, ready: Callable[[], bool]) -> None:
        super().__init__()
        self.ready = ready

    def block(self) -> None:
        _imports.poll.poll([self])


class Call(Handle):
    """A call that runs for some polls."""

    def __init__(self, host: "Host", result: Ok | Err, polls: int) -> None:
        super().__init__()
        self.host, self.result, self.polls = host, result, polls
        host.running.append(self)

    def subscribe(self) -> Pollable:
        return Pollable(lambda: self not in self.host.running)

    def get(self) -> Ok | Err | None:
        return None if self in self.host.running else self.result

    def __exit__(self, *_: Any) -> None:
        super().__exit__()
        if self in self.host.running:
            self.host.running.remove(self)
            self.host.cancelled += 1


class Host:
    """Tools that are functions of the arguments. `polls` is how long each runs."""

    def __init__(
        self,
        tools: dict[str, Callable[..., Any]],
        at_once: int = 16,
        in_all: int = 1000,
        polls: int = 1,
        denied: tuple[str, ...] = (),
    ) -> None:
        # As the host does, by their names with `_` for `-`.
        self.denied = [it.replace("-", "_") for it in denied]
        self.tools, self.at_once, self.in_all, self.polls = tools, at_once, in_all, polls
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.refused = self.cancelled = self.most = 0
        self.running: list[Call] = []
        Handle.open = 0
        _imports.poll.poll = self.poll

    def names(self) -> list[str]:
        return [*self.tools]

    def describe(self, name: str) -> Described:
        if name not in self.tools:
            raise Err(Failure(ToolError(f"no tool {name}", "E_TOOL_NOT_IN_CATALOG")))
        return Described(name, self.tools[name].__doc__, '{"type": "object"}', None)

    def search(self, query: str, limit: int) -> list[Described]:
        return [self.describe(it) for it in self.tools if query in it][:limit]

    def start(self, name: str, arguments: str) -> Call:
        if len(self.running) >= self.at_once or len(self.asked) >= self.in_all:
            self.refused += 1
            raise Err(Failure(ToolError("too many calls", "E_TOOL_CALL_LIMIT", "make fewer")))
        if name not in self.tools and name.replace("-", "_") in self.denied:
            raise Err(Failure(ToolError(f"denied: {name}", "E_TOOL_DENIED", "the policy line")))
        if name not in self.tools:
            raise Err(Failure(ToolError(f"no tool {name[:64]}", "E_TOOL_NOT_IN_CATALOG", "did you mean `a__b`?")))
        self.asked.append((name, json.loads(arguments)))
        try:
            result: Ok | Err = Ok(json.dumps(self.tools[name](**json.loads(arguments))))
        except TypeError as error:
            result = Err(Failure(ToolError(str(error), "E_TOOL_INVALID_ARGS"), '{"type": "object"}'))
        except Exception as error:
            result = Err(Failure(ToolError(str(error), "E_MADE_UP", "try another")))
        call = Call(self, result, self.polls)
        self.most = max(self.most, len(self.running))
        return call

    def poll(self, pollables: list[Pollable]) -> list[int]:
        while True:
            for call in [*self.running]:
                call.polls -= 1
                if call.polls <= 0:
                    self.running.remove(call)
            if ready := [index for index, it in enumerate(pollables) if it.ready()]:
                return ready


def _clock(nanoseconds: int) -> Pollable:
    end = time.monotonic() + nanoseconds / 1e9
    return Pollable(lambda: time.monotonic() >= end)


_types = sys.modules["componentize_py_types"] = ModuleType("componentize_py_types")
_types.Err, _types.Ok = Err, Ok
sys.modules["wit_world"] = ModuleType("wit_world")
_imports = sys.modules["wit_world.imports"] = ModuleType("wit_world.imports")
for _name in ("poll", "monotonic_clock"):
    setattr(_imports, _name, ModuleType(_name))
_imports.monotonic_clock.subscribe_duration = _clock
