"""The two ways in which a type and JSON differ: in general, and in one value."""

from typing import Any


class CannotSay(Exception):
    """A type that has no JSON Schema. The author must change it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.file: str | None = None
        self.line: int | None = None


class Mismatch(Exception):
    """A value that does not fit its type. The caller must change it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.path: list[str | int] = []

    def within(self, step: str | int) -> "Mismatch":
        """Adds the place around the value: a field or an index."""
        self.path.insert(0, step)
        return self

    def __str__(self) -> str:
        place = "".join(f"[{it}]" if isinstance(it, int) else f".{it}" for it in self.path)
        return f"`{place.removeprefix('.')}` {self.args[0]}" if place else self.args[0]


def shown(value: Any) -> str:
    """Writes a value for a message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
