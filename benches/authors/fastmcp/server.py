from pathlib import Path
from typing import Annotated, Literal

from fastmcp import FastMCP
from pydantic import BaseModel, Field

mcp = FastMCP("bench")

OFFSET = 32


class Temperature(BaseModel):
    value: float
    unit: str


class Counts(BaseModel):
    lines: int
    words: int


class Match(BaseModel):
    line: int
    text: str


@mcp.tool
def convert(
    value: Annotated[float, Field(description="Degrees", ge=-273.15, le=10_000)],
    direction: Annotated[Literal["c_to_f", "f_to_c"], Field(description="From Celsius, or to it")],
) -> Temperature:
    """Converts a temperature."""
    if direction == "c_to_f":
        return Temperature(value=value * 1.8 + OFFSET, unit="F")
    return Temperature(value=(value - OFFSET) / 1.8, unit="C")


@mcp.tool
def count(path: Annotated[str, Field(description="Path of the file")]) -> Counts:
    """Counts the lines and words of a text file."""
    text = Path(path).read_text()
    return Counts(lines=len(text.splitlines()), words=len(text.split()))


@mcp.tool
def search(
    path: Annotated[str, Field(description="Path of the file")],
    text: Annotated[str, Field(description="Text that a line contains", min_length=1)],
    limit: Annotated[int, Field(description="How many at most", ge=1, le=100)] = 10,
) -> list[Match]:
    """Searches the lines of a text file."""
    lines = enumerate(Path(path).read_text().splitlines(), 1)
    return [Match(line=number, text=line) for number, line in lines if text in line][:limit]


if __name__ == "__main__":
    mcp.run()
