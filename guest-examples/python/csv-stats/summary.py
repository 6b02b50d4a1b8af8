"""One column in a few figures."""

import math
import statistics
from collections import Counter
from typing import Any


def summary(cells: list[str], top: int) -> dict[str, Any]:
    """Returns {type, count, empty, distinct, ...}; numbers also have min, max, mean, median, stdev."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    numbers = [number for cell in filled if (number := as_number(cell)) is not None]
    found: dict[str, Any] = {
        "type": "number" if filled and len(numbers) == len(filled) else "text" if filled else "empty",
        "count": len(filled),
        "empty": len(cells) - len(filled),
        "distinct": len(set(filled)),
    }
    if found["type"] == "number":
        found |= figures(numbers)
    found["top"] = [{"value": value, "count": n} for value, n in Counter(filled).most_common(top)]
    return found


def figures(numbers: list[float]) -> dict[str, float]:
    """Rounded to what a reader needs: the sixth digit of a mean says nothing."""
    return {
        "min": tidy(min(numbers)),
        "max": tidy(max(numbers)),
        "mean": tidy(statistics.fmean(numbers)),
        "median": tidy(statistics.median(numbers)),
        "stdev": tidy(statistics.stdev(numbers)) if len(numbers) > 1 else 0,
    }


def tidy(number: float) -> float:
    rounded = float(f"{number:.6g}") if abs(number) < 1e15 else number
    return int(rounded) if rounded.is_integer() else rounded


def as_number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
