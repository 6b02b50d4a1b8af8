"""Why there is no component, and what to do next."""

from typing import Any

# The tool has to be changed.
TOOL = 1
# The machine or the command line has.
MACHINE = 2


class BuildError(Exception):
    """One thing that is wrong: what, where, and the next move."""

    def __init__(
        self,
        message: str,
        next_move: str,
        *,
        place: str | None = None,
        detail: str | None = None,
        exit_code: int = TOOL,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.next_move = next_move
        self.place = place
        self.detail = detail
        self.exit_code = exit_code

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        detail = "".join(f"\n  | {line}" for line in (self.detail or "").splitlines())
        return f"error: {where}{self.message}{detail}\n  next: {self.next_move}"

    def to_json(self) -> dict[str, Any]:
        return {"message": self.message, "place": self.place, "next": self.next_move, "detail": self.detail}
