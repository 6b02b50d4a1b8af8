"""Drops the host's handles."""

from collections.abc import Callable
from typing import Any


class Finalizer:
    """Drops a handle with the object that owns it.

    It stands in for `weakref.finalize`, whose registry for the end of the program takes longer than a call of the host.
    """

    __slots__ = ("_drop", "_handle")

    def __init__(self, owner: Any, drop: Callable[[int, int], None], resource: int, handle: int) -> None:
        self._drop: Callable[[int, int], None] | None = drop
        self._handle = resource, handle

    def detach(self) -> Any:
        """Returns, in the form of `weakref.finalize`, what drops the handle, which the caller does."""
        drop, self._drop = self._drop, None
        return None, drop, self._handle, None

    def __del__(self) -> None:
        if self._drop is not None:
            self._drop(*self._handle)
