"""A message as a line of JSON."""

import json
import math
from typing import Any


def to_line(message: dict[str, Any]) -> bytes:
    """Writes a message. Raises ValueError with the place of a value that JSON cannot hold."""
    try:
        text = json.dumps(message, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        return text.encode() + b"\n"
    except ValueError as error:
        raise ValueError(_fault(message) or str(error)) from None


def _fault(value: Any) -> str | None:
    """Returns the place and the fault of the first value that JSON cannot hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return f" is {value}: JSON has no such number"
    if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        return " has half of a surrogate pair, which UTF-8 cannot hold"
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    for key, item in items:
        fault = _fault(key) or _fault(item)
        if fault is not None:
            return f"{key!s}{fault}" if fault.startswith(" ") else f"{key!s}.{fault}"
    return None
