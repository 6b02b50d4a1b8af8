"""Marks functions as handlers, and tells those with typed parameters from those that take `(ctx, input)`."""

import inspect
import typing
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, overload

_MARK = "__toolhost_tool__"

F = TypeVar("F", bound=Callable[..., Any])


class Mark(NamedTuple):
    """What `@tool` says of a function."""

    name: str | None
    description: str | None


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(*, name: str | None = None, description: str | None = None) -> Callable[[F], F]: ...
def tool(function: Any = None, /, *, name: str | None = None, description: str | None = None) -> Any:
    """Makes a function of the entry a handler: its parameters are the arguments, by their annotations.

    A parameter of type `Context` gets the context of the call. `name` stands for the function's name,
    `description` for its docstring. The function itself does not change.
    """

    def mark(function: Any) -> Any:
        setattr(function, _MARK, Mark(name, description))
        return function

    return mark if function is None else mark(function)


def mark_of(function: Any) -> Mark | None:
    """Returns what `@tool` says of a function, or None."""
    return getattr(function, _MARK, None) if callable(function) and not isinstance(function, type) else None


def is_typed(function: Any) -> bool:
    """Whether a function of `handlers` takes arguments by name, and not `(ctx, input)`."""
    if mark_of(function) is not None:
        return True
    if not isinstance(function, FunctionType):
        return False
    try:
        signature = inspect.signature(function)
        types = typing.get_type_hints(function, include_extras=True)
    except Exception:
        return False
    parameters = [*signature.parameters]
    if any(name not in types for name in parameters):
        return False
    try:
        signature.bind(None, None)
    except TypeError:
        return True
    return any(_is_of_argument(types[name]) for name in parameters[:2])


def _is_of_argument(annotation: Any) -> bool:
    """Whether a type is none that `ctx` or `input` of a handler has."""
    of_arguments = (typing.Annotated, typing.Literal, list, tuple, set)
    return annotation in (str, int, float, bool) or typing.get_origin(annotation) in of_arguments
