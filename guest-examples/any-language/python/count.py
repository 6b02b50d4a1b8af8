"""A tool in Python: counts the lines, words and characters of a text file."""

import json
import sys

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import types


class ToolError(Exception):
    """An error that a model reads."""

    def __init__(self, message: str, *, code: str | None = None, suggestion: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.suggestion = suggestion


def count(path: str) -> dict[str, int]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError as error:
        raise ToolError(
            f"no such file: {path}",
            code="NOT_FOUND",
            suggestion="pass the path of a text file, relative to the working directory",
        ) from error
    print("read", path, file=sys.stderr)
    return {"lines": len(text.splitlines()), "words": len(text.split()), "chars": len(text)}


TOOLS = {"count": count}


class Handlers(exports.Handlers):
    """The exports of the component."""

    def describe(self) -> list[types.ExportSpec]:
        return [types.ExportSpec(name, None, None) for name in TOOLS]

    def call(self, name: str, context: types.ToolContext, input: str) -> types.Outcome:
        try:
            output = TOOLS[name](**json.loads(input))
            return types.Outcome_Output(json.dumps(output))
        except Exception as error:
            # The error of the result is what `Err` holds. Anything else that is raised is a crash.
            kind = type(error).__name__
            code = getattr(error, "code", None)
            suggestion = getattr(error, "suggestion", None)
            raise Err(types.ToolError(str(error), kind, code, suggestion, None)) from error
