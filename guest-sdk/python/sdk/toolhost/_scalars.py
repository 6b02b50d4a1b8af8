"""Types that are one JSON text or number: dates, UUIDs, bytes and others. The ISO forms are those of RFC 3339."""

import base64
import datetime
import re
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path, PosixPath, PurePath, PurePosixPath
from typing import Any, NamedTuple

from ._mismatch import CannotSay, Mismatch, shown
from ._param import keywords

_DURATION = re.compile(
    r"(?P<sign>[+-])?P(?!$)(?:(?P<weeks>\d+(?:\.\d+)?)W)?(?:(?P<days>\d+(?:\.\d+)?)D)?"
    r"(?:T(?!$)(?:(?P<hours>\d+(?:\.\d+)?)H)?(?:(?P<minutes>\d+(?:\.\d+)?)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)


class Scalar(NamedTuple):
    """How a type is read, and what JSON Schema says of it."""

    schema: dict[str, Any]
    read: Callable[[Any], Any]
    takes: tuple[type, ...] = (str,)


def text(value: Any) -> str:
    if type(value) is not str:
        raise Mismatch(f"is {shown(value)}, not a text")
    return value


def integer(value: Any) -> int:
    if type(value) is int:
        return value
    # JSON has one kind of number: 10.0 is an integer.
    if type(value) is float and value.is_integer():
        return int(value)
    raise Mismatch(f"is {shown(value)}, not an integer")


def number(value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is int:
        return float(value)
    raise Mismatch(f"is {shown(value)}, not a number")


def boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise Mismatch(f"is {shown(value)}, not true or false")
    return value


def null(value: Any) -> None:
    if value is not None:
        raise Mismatch(f"is {shown(value)}, not null")


def as_is(value: Any) -> Any:
    return value


def of_text(name: str, make: Callable[[str], Any]) -> Callable[[Any], Any]:
    """Returns a reader of a text that a function parses."""

    def read(value: Any) -> Any:
        if type(value) is not str:
            raise Mismatch(f"is {shown(value)}, not {name}")
        try:
            return make(value)
        except (ValueError, re.error):
            raise Mismatch(f"is {shown(value)}, not {name}") from None

    return read


def duration(value: str) -> timedelta:
    """Parses an ISO 8601 duration of weeks, days, hours, minutes and seconds."""
    match = _DURATION.fullmatch(value)
    if match is None:
        raise ValueError(value)
    parts = {unit: float(it) for unit, it in match.groupdict().items() if it and unit != "sign"}
    made = timedelta(**parts)
    return -made if match["sign"] == "-" else made


def duration_text(value: timedelta) -> str:
    sign, value = ("-", -value) if value < timedelta() else ("", value)
    seconds = f"{value.seconds % 60}.{value.microseconds:06}".rstrip("0").rstrip(".")
    hours, minutes = divmod(value.seconds // 60, 60)
    days = f"{value.days}D" if value.days else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    clock += f"{seconds}S" if seconds != "0" else ""
    return f"{sign}P{days}T{clock}" if clock else f"{sign}P{days or 'T0S'}"


def _iso(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    # Python 3.10 does not know the Z of RFC 3339.
    return lambda value: parse(value[:-1] + "+00:00" if value[-1:] in ("Z", "z") else value)


def _date(value: str) -> datetime.date:
    if len(value) != 10:
        raise ValueError(value)
    return datetime.date.fromisoformat(value)


def _bytes(value: str) -> bytes:
    return base64.b64decode(value, validate=True)


def _decimal(value: Any) -> Any:
    if type(value) in (str, int, float):
        decimal = sys.modules["decimal"]
        try:
            made = decimal.Decimal(value if type(value) is not float else repr(value))
        except decimal.InvalidOperation:
            made = decimal.Decimal("NaN")
        if made.is_finite():
            return made
    raise Mismatch(f"is {shown(value)}, not a decimal number")


def _string(**more: Any) -> dict[str, Any]:
    return {"type": "string", **more}


_ISO_DATE_TIME = of_text("a date and time such as 2026-01-31T12:00:00Z", _iso(datetime.datetime.fromisoformat))
_ISO_TIME = of_text("a time such as 12:30:00", _iso(datetime.time.fromisoformat))
_BASE64 = _string(contentEncoding="base64")
_DECIMAL = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"

SCALARS: dict[Any, Scalar] = {
    str: Scalar({"type": "string"}, text),
    int: Scalar({"type": "integer"}, integer, (int, float)),
    float: Scalar({"type": "number"}, number, (float, int)),
    bool: Scalar({"type": "boolean"}, boolean, (bool,)),
    type(None): Scalar({"type": "null"}, null, (type(None),)),
    datetime.datetime: Scalar(_string(format="date-time"), _ISO_DATE_TIME),
    datetime.date: Scalar(_string(format="date"), of_text("a date such as 2026-01-31", _date)),
    datetime.time: Scalar(_string(format="time"), _ISO_TIME),
    timedelta: Scalar(_string(format="duration"), of_text("a duration such as P1DT2H30M", duration)),
    bytes: Scalar(_BASE64, of_text("base64", _bytes)),
    bytearray: Scalar(_BASE64, of_text("base64", lambda value: bytearray(_bytes(value)))),
    Path: Scalar(_string(), of_text("a path", Path)),
    PosixPath: Scalar(_string(), of_text("a path", PosixPath)),
    PurePath: Scalar(_string(), of_text("a path", PurePath)),
    PurePosixPath: Scalar(_string(), of_text("a path", PurePosixPath)),
    re.Pattern: Scalar(_string(format="regex"), of_text("a regular expression", re.compile)),
}

# Of modules that a tool may not import, and then its component does not contain them.
_OF_MODULES: dict[tuple[str, str], Callable[[type], Scalar]] = {
    ("decimal", "Decimal"): lambda _: Scalar(
        {"type": ["string", "number"], "pattern": _DECIMAL}, _decimal, (str, int, float)
    ),
    ("uuid", "UUID"): lambda kind: Scalar(_string(format="uuid"), of_text("a UUID", kind)),
    ("ipaddress", "IPv4Address"): lambda kind: Scalar(_string(format="ipv4"), of_text("an IPv4 address", kind)),
    ("ipaddress", "IPv6Address"): lambda kind: Scalar(_string(format="ipv6"), of_text("an IPv6 address", kind)),
}


def scalar_of(kind: type) -> Scalar | None:
    """Returns how a class is read; None for one that is no text or number in JSON."""
    if (known := SCALARS.get(kind)) is not None:
        return known
    if make := _OF_MODULES.get((kind.__module__, kind.__qualname__)):
        return make(kind)
    return None


def as_result(scalar: Scalar) -> dict[str, Any]:
    """Returns the schema of a result. A decimal keeps its digits as a text."""
    return _string(pattern=_DECIMAL) if scalar.read is _decimal else scalar.schema


def subclass_of_scalar(kind: type) -> Scalar | None:
    """Returns how a subclass of `str`, `int` or `float` is read."""
    for base in (str, int, float):
        if issubclass(kind, base):
            read = SCALARS[base].read

            def make(value: Any) -> Any:
                try:
                    return kind(read(value))
                except (ValueError, AssertionError) as error:
                    raise Mismatch(f"is {shown(value)}: {error}") from error

            return Scalar(_bounds_of(kind, base), make, SCALARS[base].takes)
    return None


def _bounds_of(kind: type, base: type) -> dict[str, Any]:
    """Returns the schema of a subclass. Constrained types of pydantic 1 hold their bounds as attributes."""
    schema = dict(SCALARS[base].schema)
    if hasattr(kind, "__get_validators__"):
        bounds = {it: value for it in dir(kind) if not callable(value := getattr(kind, it, None))}
        try:
            schema |= keywords(bounds, SCALARS[base].takes)
        except CannotSay:
            pass  # A type of a library, with attributes of its own.
    return schema
