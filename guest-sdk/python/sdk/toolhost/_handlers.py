"""Checks the handlers of a module, once, when the component is built."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_MARK = "__toolhost__"

F = TypeVar("F", bound=Callable[..., Any])


class HandlersError(Exception):
    """The module is not a valid tool; the message says why."""


@dataclass(frozen=True)
class Handler:
    """One function that the model may call."""

    name: str
    function: Callable[[Any, Any], Any]
    description: str | None
    parameters: dict[str, Any] | None


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
    """Reads a module's `handlers`, or raises HandlersError."""
    found = getattr(module, "handlers", None)
    if found is None:
        raise HandlersError('there is no `handlers`; write handlers = {"read": read}, a name for each function')
    if not isinstance(found, dict) or not found:
        raise HandlersError("`handlers` is not a dict of at least one function by its name")
    return {name: _handler(name, function) for name, function in found.items()}


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


def _handler(name: Any, function: Any) -> Handler:
    place = f"handlers[{name!r}]"
    if not isinstance(name, str) or not _NAME.fullmatch(name) or "__" in name:
        raise HandlersError(f"{place}: a name has lower-case letters, digits, `_` and `-`, and no `__`")
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
