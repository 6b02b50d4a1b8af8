"""Checks the handlers of a module, once, when the component is built."""

import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

from ._answer import to_json
from ._mark import is_typed, mark_of
from ._mismatch import CannotSay

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_RULE_OF_NAMES = "a name has lower-case letters, digits, `_` and `-`, and no `__`"
_MARK = "__toolhost__"

NO_HANDLERS = "there is no handler: write @tool above a function (from toolhost import tool)"

F = TypeVar("F", bound=Callable[..., Any])


class HandlersError(Exception):
    """The module is not a valid tool; the message says why, and the place where, if it is known."""

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.file = file
        self.line = line


@dataclass(frozen=True)
class Handler:
    """One function that the model may call."""

    name: str
    function: Callable[[Any, Any], Any]
    description: str | None
    parameters: dict[str, Any] | None
    output_schema: dict[str, Any] | None = None
    write: Callable[[Any], str] = to_json
    """Writes a result as JSON."""


def handler(
    *, description: str | None = None, parameters: dict[str, Any] | None = None
) -> Callable[[F], F]:
    """Sets the description and parameters of a handler, for what goondan.yaml leaves out.

    `description` stands for the first line of the docstring; `parameters` is the JSON Schema of the
    input, an object schema. What goondan.yaml says goes first.
    """

    def mark(function: F) -> F:
        setattr(function, _MARK, (description, parameters))
        return function

    return mark


def handlers_of(module: ModuleType) -> dict[str, Handler]:
    """Reads a module's `handlers` and the functions marked with `@tool`, or raises HandlersError."""
    listed = getattr(module, "handlers", None)
    marked = {id(it): it for it in vars(module).values() if mark_of(it) is not None}
    if listed is None and not marked:
        raise HandlersError(NO_HANDLERS)
    if listed is not None and (not isinstance(listed, dict) or not (listed or marked)):
        raise HandlersError("`handlers` is not a dict of at least one function by its name")
    handlers = {name: _handler(name, function) for name, function in (listed or {}).items()}
    for function in listed.values() if listed else ():
        marked.pop(id(function), None)
    for function in marked.values():
        name = mark_of(function).name or function.__name__
        if name in handlers:
            raise _error_at(function, f"there are two handlers with the name `{name}`: set one with @tool(name=...)")
        handlers[name] = _typed_handler(f"`{name}`", name, function)
    return handlers


def polling_of(
    module: ModuleType, expected: bool
) -> tuple[Callable[[Any, str], Any], Callable[[Any, str], Any]] | None:
    """Reads a module's `polling`: `{"poll": fn, "cancel": fn}`, both taking (ctx, handle).

    `expected` is whether the component exports it, as its source defined when the build began.
    """
    found = getattr(module, "polling", None)
    if (found is not None) != expected:
        raise HandlersError("`polling` is not assigned at the top level of the entry: polling = {...}")
    if found is None:
        return None
    if not isinstance(found, dict) or found.keys() != {"poll", "cancel"}:
        raise HandlersError('`polling` is not {"poll": function, "cancel": function}')
    for name, function in found.items():
        _check_arguments(f"polling[{name!r}]", function, "(ctx, handle)")
    return found["poll"], found["cancel"]


def _typed_handler(place: str, name: str, function: Any) -> Handler:
    if not _is_name(name):
        raise _error_at(function, f"{place}: {_RULE_OF_NAMES}: set it with @tool(name=...)")
    mark = mark_of(function)
    # Not by a statement: a component without typed functions does not contain what converts them.
    typed = importlib.import_module("._typed", __package__).typed
    try:
        made = typed(function, mark.description if mark else None)
    except CannotSay as error:
        raise HandlersError(f"{place}: {error}", error.file, error.line) from None
    return Handler(name, *made)


def _error_at(function: Any, message: str) -> HandlersError:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return HandlersError(message, code and code.co_filename, code and code.co_firstlineno)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None and "__" not in name


def _handler(name: Any, function: Any) -> Handler:
    place = f"handlers[{name!r}]"
    if not _is_name(name):
        raise HandlersError(f"{place}: {_RULE_OF_NAMES}")
    if is_typed(function):
        return _typed_handler(place, name, function)
    _check_arguments(place, function, "(ctx, input)")
    description, parameters = getattr(function, _MARK, (None, None))
    if description is None:
        description = (inspect.getdoc(function) or "").partition("\n")[0] or None
    return Handler(name, function, description, parameters)


def _check_arguments(place: str, function: Any, arguments: str) -> None:
    if not callable(function):
        raise HandlersError(f"{place} is of type {type(function).__name__}, not a function")
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        raise HandlersError(f"{place} does not take {arguments}") from None
    except ValueError:
        pass  # A function in C without a signature.
