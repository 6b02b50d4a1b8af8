"""Errors of connecting, which sockets here raise when a request is sent, for a library that tells them apart."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

# They convert exceptions to those of httpcore, and so of httpx.
_MODULES = ("httpcore._backends.sync", "httpcore._backends.anyio")


def settle_httpcore() -> None:
    """Makes httpcore raise ConnectError and ConnectTimeout for what reading and writing raise."""
    httpcore = sys.modules.get("httpcore")
    for name in _MODULES:
        if (module := sys.modules.get(name)) and hasattr(module, "map_exceptions"):
            module.map_exceptions = _mapping(httpcore, module.map_exceptions)


def _mapping(httpcore: Any, convert: Any) -> Any:
    @contextlib.contextmanager
    def converted(kinds: Any) -> Iterator[None]:
        try:
            with convert(kinds):
                yield
        except Exception as error:
            if (cause := _of_connecting(error)) is None:
                raise
            kind = httpcore.ConnectTimeout if isinstance(cause, TimeoutError) else httpcore.ConnectError
            raise kind(cause) from cause

    return converted


def _of_connecting(error: BaseException | None) -> BaseException | None:
    while error is not None and not getattr(error, "is_of_connecting", False):
        error = error.__cause__ or error.__context__
    return error
