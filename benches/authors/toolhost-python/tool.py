from pathlib import Path
from typing import Annotated, Literal, TypedDict

from toolhost import Param, tool

OFFSET = 32


class Temperature(TypedDict):
    value: float
    unit: str


class Counts(TypedDict):
    lines: int
    words: int


class Match(TypedDict):
    line: int
    text: str


@tool
def convert(
    value: Annotated[float, Param("Degrees", ge=-273.15, le=10_000)],
    direction: Annotated[Literal["c_to_f", "f_to_c"], "From Celsius, or to it"],
) -> Temperature:
    """Converts a temperature."""
    if direction == "c_to_f":
        return {"value": value * 1.8 + OFFSET, "unit": "F"}
    return {"value": (value - OFFSET) / 1.8, "unit": "C"}


@tool
def count(path: Annotated[Path, "Path of the file"]) -> Counts:
    """Counts the lines and words of a text file."""
    text = path.read_text()
    return {"lines": len(text.splitlines()), "words": len(text.split())}


@tool
def search(
    path: Annotated[Path, "Path of the file"],
    text: Annotated[str, Param("Text that a line contains", min_length=1)],
    limit: Annotated[int, Param("How many at most", ge=1, le=100)] = 10,
) -> list[Match]:
    """Searches the lines of a text file."""
    lines = enumerate(path.read_text().splitlines(), 1)
    return [{"line": number, "text": line} for number, line in lines if text in line][:limit]
