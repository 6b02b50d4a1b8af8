"""Converts the results of typed functions to what JSON has."""

import base64
import collections
import contextlib
import datetime
import enum
import json
import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from ._answer import NotJson, encoder, json_text, not_json
from ._records import record_of
from ._scalars import duration_text, scalar_of


def _sorted(values: Any) -> list[Any]:
    """Sets have no order of their own; a result should not depend on it."""
    try:
        return sorted(values)
    except TypeError:
        return list(values)


def _base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode()


# By class; a subclass is written as its nearest base.
_WRITERS: dict[type, Callable[[Any], Any]] = {
    enum.Enum: lambda value: value.value,
    datetime.datetime: lambda value: value.isoformat().replace("+00:00", "Z"),
    datetime.date: datetime.date.isoformat,
    datetime.time: lambda value: value.isoformat().replace("+00:00", "Z"),
    datetime.timedelta: duration_text,
    PurePath: str,
    bytes: _base64,
    bytearray: _base64,
    re.Pattern: lambda value: value.pattern,
    set: _sorted,
    frozenset: _sorted,
    collections.deque: list,
}


def written(value: Any) -> Any:
    """Converts one value that the JSON encoder does not know; values within it may be such again."""
    kind = type(value)
    writer = _WRITERS.get(kind)
    if writer is None:
        writer = _WRITERS[kind] = _writer_of(kind)
    return writer(value)


_encoded = encoder(written)


def typed_json(value: Any) -> str:
    """Writes the result of a typed function as JSON. Raises ToolError where it is none."""
    try:
        return typed_text(value, "result")
    except NotJson as error:
        raise not_json(error) from None


def typed_text(value: Any, place: str) -> str:
    """Writes a value as JSON. Raises NotJson where it is none, naming the type and the place, which begins with `place`."""
    try:
        text = _encoded(value)
        text.encode()
        return text
    except (TypeError, ValueError, RecursionError):
        pass
    # A mapping has keys that are no texts, or something is wrong, and its place is said.
    with contextlib.suppress(ValueError, RecursionError):
        value = plain(value)
    return json_text(value, place)


def prepare_writers(kinds: set[type]) -> None:
    """Prepares what the results of these classes need, so that no call does."""
    for kind in kinds:
        _WRITERS.setdefault(kind, _writer_of(kind))


def plain(value: Any) -> Any:
    """Converts a value and all within it, the keys of mappings too. What cannot be converted stays."""
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Mapping):
        return {_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    try:
        return plain(written(value))
    except TypeError:
        return value


def _key(key: Any) -> Any:
    return plain(key) if not isinstance(key, tuple) else key


def _writer_of(kind: type) -> Callable[[Any], Any]:
    for base in kind.__mro__:
        if base in _WRITERS:
            return _WRITERS[base]
    if scalar_of(kind) is not None:
        return str
    if issubclass(kind, Mapping):
        return dict
    record = record_of(kind)
    if record is None:
        raise TypeError(f"Object of type {kind.__name__} is not JSON serializable")
    if record.parse is not None:
        # pydantic, whose models may have encoders of their own.
        if hasattr(kind, "model_dump"):
            return lambda value: value.model_dump(mode="json", by_alias=True)
        return lambda value: json.loads(value.json(by_alias=True))
    names = [(field.attribute or field.name, field.key()) for field in record.fields if field.is_stored]
    return lambda value: {key: getattr(value, name) for name, key in names}
