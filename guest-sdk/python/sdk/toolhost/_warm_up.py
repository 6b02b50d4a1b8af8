"""Runs what most calls run, once the tool was imported.

The interpreter fills its caches and adapts its code to the types that it meets. The image of the component holds the
result, so that no call repeats it. No code of the tool runs.
"""

import codecs
import collections.abc
import contextlib
import io
import json
import logging
import os
from collections.abc import Callable
from typing import Any

from ._context import Context
from ._failure import ToolError, failure_of
from ._log import HostLog

# The interpreter adapts a function in its first calls.
_TIMES = 16

_ENCODINGS = ("ascii", "cp1252", "latin-1", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")

_INPUT = '{"path": "a.txt", "n": 1, "x": 1.5, "flag": true, "none": null, "list": ["a", {"b": []}], "\\u00e9": "\\n"}'


def warm_up(call: Callable[[Callable[[Context, Any], Any], Any], Any], file: str) -> None:
    """Runs functions as handlers; `call` calls one with an argument, and `file` is one that can be read."""
    for encoding in _ENCODINGS:
        codecs.lookup(encoding)
    _check_types()
    for _ in range(_TIMES):
        call(_handler, file)
        with contextlib.suppress(Exception):
            call(_failing, file + ".none")
        _log()


def _handler(ctx: Context, file: str) -> dict[str, Any]:
    with open(file) as opened:
        lines = list(opened)
    with open(file, encoding="utf-8-sig", newline="") as opened:
        opened.read()
    with open(file, "rb") as opened:
        opened.read()
    return {
        "found": [os.path.exists(file), os.path.isdir(file), os.stat(file).st_size, os.path.basename(file)],
        "files": len(os.listdir(os.path.dirname(file))),
        "lines": [line for line in io.StringIO("".join(lines))],
        "input": json.loads(_INPUT),
        "again": json.loads(json.dumps({"a": [1, "b", None]}, indent=2)),
    }


def _failing(ctx: Context, file: str) -> None:
    try:
        open(file)
    except OSError as error:
        failure_of(error)
        raise ToolError("not found", code="NOT_FOUND", suggestion="look") from error


def _check_types() -> None:
    """Fills the caches of the abstract types for the types of values."""
    values = ("", b"", 0, 0.5, True, None, [], (), {}, set(), iter(()), (it for it in ()), range(0), {}.items(), print)
    for abstract in vars(collections.abc).values():
        if isinstance(abstract, type):
            for value in values:
                isinstance(value, abstract)


class _Levels(dict[str, str]):
    def __missing__(self, level: str) -> str:
        return level


def _log() -> None:
    logger = logging.Logger("warm-up")
    logger.addHandler(HostLog(lambda level, context, text: None, _Levels()))
    logger.info("read %d rows of %s", 1, "a.txt")
