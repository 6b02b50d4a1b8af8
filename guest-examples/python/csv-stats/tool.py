"""The `csv-stats` tool: what is in a CSV file of the workdir, without sending it to the model."""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Any

from toolhost import Context, ToolError

from summary import summary

# All cells are held in memory, of which a call has 256 MiB.
MAX_CELLS = 1_000_000


def describe(ctx: Context, input: dict[str, Any]) -> dict[str, Any]:
    """Describes every column of a CSV file: type, counts, range, mean, deviation, most frequent values."""
    path = input["path"]
    columns, rows = read_columns(path, input.get("delimiter"))
    ctx.logger.info("%s has %d rows in %d columns", path, rows, len(columns))
    wanted = input.get("columns") or list(columns)
    check_names(path, wanted, columns)
    top = input.get("top", 5)
    return {
        "path": path,
        "rows": rows,
        "columns": [{"name": name, **summary(columns[name], top)} for name in wanted],
    }


def count(ctx: Context, input: dict[str, Any]) -> dict[str, Any]:
    """Counts the rows of a CSV file by the values of one column, most frequent first."""
    path, by = input["path"], input["by"]
    columns, rows = read_columns(path, input.get("delimiter"))
    check_names(path, [by], columns)
    found = Counter(columns[by]).most_common(input.get("limit", 50))
    return {"path": path, "rows": rows, "counts": [{"value": value, "count": n} for value, n in found]}


def check_names(path: str, names: list[str], columns: dict[str, list[str]]) -> None:
    """Refuses names that no column has."""
    if unknown := [name for name in names if name not in columns]:
        raise ToolError(
            f"{path} has no column {', '.join(map(repr, unknown))}",
            code="NO_SUCH_COLUMN",
            suggestion=f"its columns are: {', '.join(columns)}",
        )


def read_columns(path: str, delimiter: str | None) -> tuple[dict[str, list[str]], int]:
    """Reads a file whose first row names the columns; returns their cells, and the number of rows."""
    try:
        return parse(path, delimiter)
    except UnicodeDecodeError as error:
        raise ToolError(f"{path} is not UTF-8 text", code="NOT_TEXT", suggestion="pass a CSV file") from error
    except csv.Error as error:
        raise ToolError(f"{path} is not CSV: {error}", code="NOT_CSV", suggestion="look at the file") from error


def parse(path: str, delimiter: str | None) -> tuple[dict[str, list[str]], int]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        text = file.read()
    first, _, _ = text.partition("\n")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or guess_delimiter(first))
    names = unique(next(reader, []))
    if not names:
        raise ToolError(f"{path} is empty", code="EMPTY", suggestion="pass a file with a row of names")
    rows = list(islice(filter(None, reader), MAX_CELLS // len(names) + 1))
    check_rows(path, names, rows)
    # Short rows are filled up: no row is longer than that of the names.
    columns = {name: cells for name, *cells in zip_longest(names, *rows, fillvalue="")}
    return columns, len(rows)


def check_rows(path: str, names: list[str], rows: list[list[str]]) -> None:
    """Refuses more cells than fit, and rows that have more cells than there are names."""
    if len(rows) * len(names) > MAX_CELLS:
        raise ToolError(
            f"{path} has more than {MAX_CELLS:,} cells", code="TOO_LARGE", suggestion="split the file first"
        )
    widest = max(rows, key=len, default=[])
    if len(widest) > len(names):
        raise ToolError(
            f"{path}, row {rows.index(widest) + 2}: {len(widest)} cells, but {len(names)} columns",
            code="RAGGED",
            suggestion="check the delimiter, or correct that row",
        )


def guess_delimiter(line: str) -> str:
    """Takes the separator that the first line has most of."""
    return max(",;\t|", key=line.count)


def unique(names: list[str]) -> list[str]:
    """Names columns that have no name, or one that was there before, by their number."""
    return list(_unique(names))


def _unique(names: list[str]) -> Iterator[str]:
    seen: set[str] = set()
    for number, name in enumerate(names, start=1):
        name = name.strip() or f"column {number}"
        yield (name := f"{name} ({number})" if name in seen else name)
        seen.add(name)


handlers = {"describe": describe, "count": count}
