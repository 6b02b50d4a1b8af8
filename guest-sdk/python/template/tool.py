"""The `{{name}}` tool."""

from typing import Any

from toolhost import Context, ToolError


def count(ctx: Context, input: dict[str, Any]) -> dict[str, Any]:
    """Counts the lines, words and characters of a text file of the workdir."""
    path = input["path"]
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError as error:
        raise ToolError(
            f"no such file: {path}",
            code="NOT_FOUND",
            suggestion="pass the path of a text file, relative to the working directory",
        ) from error
    ctx.logger.info("read %s", path)
    return {"lines": len(text.splitlines()), "words": len(text.split()), "chars": len(text)}


# A name for each function, as goondan.yaml names it.
handlers = {"count": count}
