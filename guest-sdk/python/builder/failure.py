"""The errors of a build, with the next step."""

from typing import Any

# The tool must be changed.
TOOL = 1
# The machine or the command line must be changed.
MACHINE = 2


class BuildError(Exception):
    """One error: the message, the place (a file and a line) and the next step."""

    def __init__(
        self,
        message: str,
        next_move: str,
        *,
        file: str | None = None,
        line: int | None = None,
        detail: str | None = None,
        exit_code: int = TOOL,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.next_move = next_move
        self.file = file
        self.line = line
        self.detail = detail
        self.exit_code = exit_code

    def __str__(self) -> str:
        place = ":".join(str(it) for it in (self.file, self.line) if it is not None)
        where = f"{place}: " if place else ""
        detail = "".join(f"\n  | {line}" for line in (self.detail or "").splitlines())
        return f"error: {where}{self.message}{detail}\n  next: {self.next_move}"

    def to_json(self) -> dict[str, Any]:
        error = {
            "text": self.message,
            "file": self.file,
            "line": self.line,
            "detail": self.detail,
            "suggestion": self.next_move,
        }
        kind = "source" if self.exit_code == TOOL else "environment"
        return {"ok": False, "kind": kind, "errors": [error]}
