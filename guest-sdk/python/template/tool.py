"""The `{{name}}` tool."""

from pathlib import Path
from typing import TypedDict

from toolhost import Context, ToolError, tool


class Counts(TypedDict):
    lines: int
    words: int
    chars: int


@tool
def count(ctx: Context, path: Path) -> Counts:
    """Counts the lines, words and characters of a text file of the workdir.

    Args:
        path: Path relative to the workdir
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ToolError(
            f"no such file: {path}",
            code="NOT_FOUND",
            suggestion="pass the path of a text file, relative to the working directory",
        ) from error
    ctx.logger.info("read %s", path)
    return {"lines": len(text.splitlines()), "words": len(text.split()), "chars": len(text)}
