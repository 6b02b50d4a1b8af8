"""Converts the return value of a handler to JSON."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ._failure import ToolError

JsonValue: TypeAlias = "None | bool | int | float | str | list[JsonValue] | dict[str, JsonValue]"


@dataclass(frozen=True)
class Pending:
    """Work that is accepted but not finished. The host polls the handle later: see `polling` in BUILD.md."""

    handle: str


def encoder(default: Callable[[Any], Any] | None = None) -> Callable[[Any], str]:
    """Returns a function that writes JSON; `default` converts what is none.

    JSONEncoder makes an encoder in C for each value. This makes one for all.
    """
    made = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=default)
    parts = (made.default, json.encoder.encode_basestring, None, ":", ",", False, False, False)
    write = json.encoder.c_make_encoder(None, *parts)
    return lambda value: "".join(write(value, 0))


_encoded = encoder()


class NotJson(TypeError):
    """A value that JSON cannot hold; the message says where it is."""


def json_text(value: Any, place: str) -> str:
    """Writes a value as JSON. Raises NotJson where it is none, naming the type and the place, which begins with `place`."""
    try:
        text = _encoded(value)
        text.encode()
        return text
    except (TypeError, ValueError, RecursionError) as error:
        found = _offence(value, place, set()) or str(error)
    raise NotJson(found)


def to_json(value: Any) -> str:
    """Writes a handler's result as JSON. Raises ToolError where it is none."""
    try:
        return json_text(value, "result")
    except NotJson as error:
        raise not_json(error) from None


def not_json(error: NotJson) -> ToolError:
    """Returns the error for a handler's result."""
    return ToolError(
        f"the handler's result is not JSON: {error}",
        name="ResultError",
        suggestion="the caller cannot change this: the author must correct the tool",
    )


# Suggestions, by the name of the type.
_INSTEAD = {
    "bytes": "decode it, or use base64",
    "coroutine": "await it",
    "date": "use .isoformat()",
    "datetime": "use .isoformat()",
    "Decimal": "use str() or float()",
    "generator": "use list()",
    "Path": "use str()",
    "PosixPath": "use str()",
    "set": "use sorted()",
    "UUID": "use str()",
}


def _offence(value: Any, place: str, above: set[int]) -> str | None:
    """Finds the first value that JSON cannot hold, and returns its place."""
    match value:
        case None | bool() | int():
            return None
        case float():
            return None if math.isfinite(value) else f"{place} is {value}, which is not a JSON number"
        case str():
            return _offence_in_text(value, place)
        case dict() | list() | tuple():
            if id(value) in above:
                return f"{place} contains itself"
            return _offence_within(value, place, above | {id(value)})
    kind = type(value).__name__
    hint = f" ({_INSTEAD[kind]})" if kind in _INSTEAD else ""
    return f"{place} is of type {kind}{hint}"


def _offence_within(value: Any, place: str, above: set[int]) -> str | None:
    if len(above) > 100:
        return f"{place[:80]}... is nested too deeply"
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        inner = f"{place}[{key!r}]"
        if isinstance(value, dict):
            if not isinstance(key, (str, int, float, bool, type(None))):
                return f"{place} has a key of type {type(key).__name__}: {key!r}"
            if isinstance(key, str) and (found := _offence_in_text(key, f"a key of {place}")):
                return found
        if found := _offence(item, inner, above):
            return found
    return None


def _offence_in_text(text: str, place: str) -> str | None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"{place} is not Unicode text: {text!r}"
    return None
