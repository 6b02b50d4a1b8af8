"""The errors of a build, with the next step."""

from dataclasses import dataclass
from typing import Any

# The tool must be changed.
TOOL = 1
# The machine or the command line must be changed.
MACHINE = 2


@dataclass(frozen=True)
class Note:
    """A warning for the author."""

    message: str
    next_move: str | None = None
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        move = f"\n  next: {self.next_move}" if self.next_move else ""
        return f"note: {_place(self.file, self.line)}{self.message}{move}"

    def to_json(self) -> dict[str, Any]:
        return {"text": self.message, "file": self.file, "line": self.line, "suggestion": self.next_move}


class BuildError(Exception):
    """An error: the message, the place (a file, a line and a column) and the next step."""

    def __init__(
        self,
        message: str,
        next_move: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        detail: str | None = None,
        exit_code: int = TOOL,
        lacks: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.next_move = next_move
        self.file = file
        self.line = line
        self.column = column
        self.detail = detail
        self.exit_code = exit_code
        self.lacks = lacks
        """What this Python lacks, so that another one can build the tool."""
        self.others: list[BuildError] = []
        """Errors that were found at the same time."""

    def __str__(self) -> str:
        return "\n".join(error._text() for error in (self, *self.others))

    def _text(self) -> str:
        detail = "".join(f"\n  | {line}" for line in (self.detail or "").splitlines())
        place = _place(self.file, self.line, self.column)
        return f"error: {place}{self.message}{detail}\n  next: {self.next_move}"

    def to_json(self) -> dict[str, Any]:
        kind = self.lacks or ("source" if self.exit_code == TOOL else "environment")
        return {"ok": False, "kind": kind, "errors": [error._fields() for error in (self, *self.others)]}

    def _fields(self) -> dict[str, Any]:
        return {
            "text": self.message,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "detail": self.detail,
            "suggestion": self.next_move,
        }


def _place(*parts: str | int | None) -> str:
    place = ":".join(str(it) for it in parts if it is not None)
    return f"{place}: " if place else ""
