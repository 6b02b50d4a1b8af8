"""Stands in for `concurrent.interpreters`, which anyio imports, and which needs threads."""

from typing import NoReturn

from toolhost._closed import SandboxError


class ExecutionFailed(Exception):
    pass


def create() -> NoReturn:
    raise SandboxError(
        "a tool has one interpreter",
        code="NO_THREADS",
        suggestion="the author must correct the tool: do one thing after another, or use asyncio",
    )
