"""The error of a script, for the model that wrote it."""

import builtins
import json
import linecache
import sys
import traceback
from difflib import get_close_matches
from typing import Any

from toolhost import ToolCallError, ToolError

from program import FILE

# Characters of an exception's text, of a line of the script, of a schema, and of the end of the log.
_TEXT = 1000
_LINE = 160
_SCHEMA = 1000
_LOG = 400

_AWAIT = "write `await` before each call of a tool and of an async function, and await every task"


class NoResult(Exception):
    """What the script returned is not JSON."""


class NotAwaited(Exception):
    """The script has not waited for what it began."""

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.line = line


def error_of(error: BaseException, names: dict[str, Any], log: str) -> ToolError:
    """Converts an exception: its name and text, the line of the script, the end of the log, and the next move."""
    count = 1
    while isinstance(error, BaseExceptionGroup):
        count *= len(error.exceptions)
        error = error.exceptions[0]
    name = type(error).__name__
    text = "" if isinstance(error, (NoResult, NotAwaited)) else f"{name}: "
    others = f" (the first of {count} errors)" if count > 1 else ""
    end = log.rstrip()
    printed = f"\nlog: {'…' if len(end) > _LOG else ''}{end[-_LOG:]}" if end else ""
    message = f"{text}{_text(error)}{others}{_place(error)}{printed}"
    return ToolError(message, name=name, code="E_SCRIPT", suggestion=_suggestion(error, names))


def _text(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg
    try:
        return _cut(str(error), _TEXT)
    except Exception:
        return "the exception has no text"


def _place(error: BaseException) -> str:
    """Names the line that raised it, and the line at the top of the script that led there."""
    match error:
        case NotAwaited():
            lines = [error.line]
        case SyntaxError(filename=filename) if filename == FILE:
            lines = [error.lineno]
        case _:
            frames = traceback.walk_tb(error.__traceback__)
            lines = [line for frame, line in frames if frame.f_code.co_filename == FILE]
    if not lines or lines[-1] is None:
        return ""
    called = f"\ncalled in {_quoted(lines[0])}" if lines[0] != lines[-1] else ""
    return f"\nin {_quoted(lines[-1])}{called}"


def _quoted(line: int) -> str:
    return f"line {line}: {_cut(linecache.getline(FILE, line).strip(), _LINE)}"


def _suggestion(error: BaseException, names: dict[str, Any]) -> str:
    match error:
        case ToolCallError():
            return _of_call(error, names)
        case NotAwaited():
            return _AWAIT
        case NoResult():
            return "return what JSON has: texts, numbers, lists and dicts"
        case NameError() if error.name:
            return _of_name(error, names)
        case ModuleNotFoundError():
            return "the script has the standard library, and no packages"
        case RuntimeError() if "event loop" in str(error):
            return "a script with `await` at its top level runs in an event loop: write `await main()`, not `asyncio.run(main())`"
        case TypeError() | AttributeError() if "coroutine" in str(error):
            return _AWAIT
        case SyntaxError(msg=msg) if msg.startswith("nothing calls"):
            return "end with a call of it, such as `await main()` or `main()`"
        case SystemExit():
            return "to end early, use `return VALUE`"
        case RecursionError():
            return "use a loop"
    return "correct the script and call again"


def _of_call(error: ToolCallError, names: dict[str, Any]) -> str:
    parts = [error.suggestion or "correct the call, or catch ToolCallError"]
    if error.parameters is not None:
        parts.append(f"the parameters of {error.tool}: {_cut(json.dumps(error.parameters, ensure_ascii=False), _SCHEMA)}")
    return "; ".join(parts)


def _of_name(error: NameError, names: dict[str, Any]) -> str:
    if error.name in sys.stdlib_module_names:
        return f"write `import {error.name}` before"
    own = [it for it in names if not it.startswith("_")]
    similar = get_close_matches(error.name[:100], [*own, *dir(builtins)][:1000], n=1)
    ask = f"did you mean `{similar[0]}`? " if similar else ""
    return f"{ask}The script has `{'`, `'.join(own[:20])}` and Python's builtins"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"
