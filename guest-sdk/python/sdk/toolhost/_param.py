"""Descriptions and bounds of a parameter or a field, as `Annotated[...]` and `field(metadata=...)` hold them.

`Param` is this package's. Objects of `annotated-types` and the `Field` of pydantic have attributes of the same names.
"""

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ._mismatch import CannotSay


@dataclass(frozen=True)
class Param:
    """Says more about a parameter or a field: `Annotated[int, Param("How many rows", ge=1, le=100)]`."""

    description: str | None = None
    alias: str | None = None
    """Its name for the model, where it is not that of the parameter."""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    format: str | None = None
    examples: list[Any] | None = None


# Attributes, and the keywords of JSON Schema for numbers.
_OF_NUMBERS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
# For texts.
_OF_TEXTS = {"pattern": "pattern", "regex": "pattern", "format": "format"}
# The length of a text, a list or a mapping.
_LENGTHS = {"min_length": "min", "max_length": "max", "min_items": "min", "max_items": "max"}
_OF_LENGTH = {str: "Length", list: "Items", dict: "Properties"}


def described(metadata: Any) -> str | None:
    """Returns the description that one metadata has."""
    if isinstance(metadata, str):
        return metadata
    # `Doc` of typing_extensions has it under another name.
    text = _get(metadata, "description") or _get(metadata, "documentation")
    return text if isinstance(text, str) else None


def renamed(metadata: Any) -> str | None:
    """Returns the name for the model that one metadata has."""
    alias = _get(metadata, "alias")
    return alias if isinstance(alias, str) else None


def keywords(metadata: Any, takes: tuple[type, ...]) -> dict[str, Any]:
    """Returns the keywords that one metadata adds to the schema of a value that may have these types."""
    if isinstance(metadata, str):
        return {}
    added: dict[str, Any] = {}
    for attribute, keyword in _OF_NUMBERS.items():
        if (bound := _get(metadata, attribute)) is None:
            continue
        if not {int, float} & {*takes} or type(bound) not in (int, float):
            raise CannotSay(f"`{attribute}={bound!r}` is a bound of numbers")
        added[keyword] = bound
    for attribute, keyword in _OF_TEXTS.items():
        if (text := _get(metadata, attribute)) is None:
            continue
        text = text.pattern if isinstance(text, re.Pattern) else text
        if str not in takes or not isinstance(text, str):
            raise CannotSay(f"`{attribute}={text!r}` is for texts")
        added[keyword] = text
    for attribute, end in _LENGTHS.items():
        if (length := _get(metadata, attribute)) is None or (attribute == "min_length" and length == 0):
            continue
        measured = [of for kind, of in _OF_LENGTH.items() if kind in takes]
        if not measured or type(length) is not int:
            raise CannotSay(f"`{attribute}={length!r}` is for texts, lists and mappings")
        added |= {end + of: length for of in measured}
    if (examples := _get(metadata, "examples")) is not None:
        try:
            added["examples"] = json.loads(json.dumps([*examples], allow_nan=False))
        except (TypeError, ValueError):
            raise CannotSay(f"`examples={examples!r}` is not JSON") from None
    return added


_BEYOND: dict[str, tuple[tuple[type, ...], Callable[[Any, Any], bool]]] = {
    "minimum": ((int, float), operator.lt),
    "maximum": ((int, float), operator.gt),
    "exclusiveMinimum": ((int, float), operator.le),
    "exclusiveMaximum": ((int, float), operator.ge),
    "multipleOf": ((int,), lambda value, step: value % step != 0),
    "minLength": ((str,), lambda value, least: len(value) < least),
    "maxLength": ((str,), lambda value, most: len(value) > most),
    "pattern": ((str,), lambda value, pattern: re.search(pattern, value) is None),
    "minItems": ((list,), lambda value, least: len(value) < least),
    "maxItems": ((list,), lambda value, most: len(value) > most),
}


def beyond(schema: Mapping[str, Any], value: Any) -> str | None:
    """Returns the keyword that refuses a value, with its bound."""
    for keyword, (kinds, is_beyond) in _BEYOND.items():
        if keyword in schema and type(value) in kinds and is_beyond(value, schema[keyword]):
            return f"`{keyword}` {schema[keyword]}"
    return None


def with_parts(metadata: Iterable[Any]) -> Iterator[Any]:
    """Yields each metadata after those that it is made of: pydantic's `Field` holds its bounds in a list."""
    for it in metadata:
        parts = _get(it, "metadata")
        yield from parts if isinstance(parts, (list, tuple)) else ()
        yield it


def _get(metadata: Any, name: str) -> Any:
    if isinstance(metadata, Mapping):
        return metadata.get(name)
    if isinstance(metadata, type):
        return None
    return getattr(metadata, name, None)
