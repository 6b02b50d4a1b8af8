"""The error of a handler, written for the model."""

import errno
import sys
import traceback
from dataclasses import dataclass
from typing import Any


class ToolError(Exception):
    """An error for the model: the message and the next step.

    Any exception ends a call with an error; this one says more. A subclass gives its name to it,
    and any exception may carry `code`, `suggestion` and `help_url` as attributes of type str.
    """

    code: str | None = None
    suggestion: str | None = None
    help_url: str | None = None
    name: str | None = None

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        suggestion: str | None = None,
        help_url: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code or self.code
        self.suggestion = suggestion or self.suggestion
        self.help_url = help_url or self.help_url
        self.name = name or self.name


class ToolCallError(Exception):
    """Why a call of another tool has no output: see `Context.tools`."""

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        suggestion: str | None = None,
        parameters: dict[str, Any] | None = None,
        tool: str | None = None,
    ) -> None:
        self.message = message
        self.code = code or "E_TOOL"
        self.suggestion = suggestion
        self.parameters = self.schema = parameters
        """JSON Schema of the tool's arguments, where they were the reason."""
        self.tool = tool
        """Name of the tool; None if the error is not of one."""
        super().__init__(f"{tool or 'tools'}: {message} ({self.code})")


# Suggestions for errors of the file system whose text has none.
_SUGGESTIONS = {
    errno.ENOENT: "see which files there are; paths are relative to the working directory",
    errno.ENOSPC: "write less: what was written may be incomplete",
}


# Of operations that the host denies: it has recorded them, and sets the code and the suggestion.
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True)
class Failure:
    """The fields of the contract's `tool-error`."""

    message: str
    name: str
    code: str | None
    suggestion: str | None
    help_url: str | None


def failure_of(error: BaseException) -> Failure:
    """Converts an exception to an error for the model."""
    own_name = error.name if isinstance(error, ToolError) else None
    return Failure(
        message=_message(error),
        name=own_name or type(error).__name__,
        code=_code(error) or _errno_name(error),
        suggestion=_text(error, "suggestion") or _suggestion(error),
        help_url=_text(error, "help_url"),
    )


def print_traceback(error: BaseException, sdk: str, folder: str) -> None:
    """Prints the traceback of an exception to stderr, without the frames of the SDK.

    Files of the tool's `folder` have their paths within it, as the author knows them. A ToolError has no
    traceback: the tool raised it on purpose.
    """
    if isinstance(error, ToolError):
        return
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename.startswith(sdk):
        trace = trace.tb_next
    printed = traceback.TracebackException(type(error), error, trace)
    _name_files(printed, folder)
    sys.stderr.write(_format(printed))


def _format(printed: traceback.TracebackException) -> str:
    """Formats a traceback without an access to files.

    It parses the lines that it shows. Where one alone is invalid, as the head of a `with`, CPython looks for its file,
    but not in the mode `single`. An access after a denial would tell the host that the denial was not the end.
    """
    import ast

    parse, ast.parse = ast.parse, lambda source: compile(source, "<unknown>", "single", ast.PyCF_ONLY_AST)
    try:
        return "".join(printed.format())
    finally:
        ast.parse = parse


def _name_files(printed: traceback.TracebackException, folder: str) -> None:
    """Removes the tool's folder from the files of a traceback and of those it is chained with."""
    waiting: list[traceback.TracebackException | None] = [printed]
    while waiting:
        if (one := waiting.pop()) is None:
            continue
        for frame in one.stack:
            frame.filename = frame.filename.removeprefix(folder)
        waiting += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]


def _message(error: BaseException) -> str:
    match error:
        case SystemExit():
            code = f": {error.code}" if isinstance(error.code, str) else f" with {error.code!r}"
            return f"the handler ended the program (sys.exit){code}"
        case KeyboardInterrupt():
            return "the handler raised KeyboardInterrupt"
        case OSError() if error.strerror:
            place = f": {error.filename}" if error.filename is not None else ""
            return _unicode(f"{error.strerror}{place}")
        case KeyError():
            return _unicode(f"no such key: {error}")
    # Some libraries raise errors without a text, from one that has it.
    inner = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    try:
        text = str(error)
    except Exception:
        return type(error).__name__
    return _unicode(text) or (_message(inner) if inner else type(error).__name__)


def _suggestion(error: BaseException | None) -> str | None:
    match error:
        case None:
            return None
        case SystemExit() | KeyboardInterrupt():
            return "the tool has to be corrected: a handler returns its result or raises an error"
        case MemoryError():
            return "ask for less in one call"
        case ModuleNotFoundError():
            return f"the tool has to be corrected: `import {error.name}` at the top of its module"
        case OSError() if error.errno in _SUGGESTIONS:
            return _SUGGESTIONS[error.errno]
    # A library may have wrapped an error of this SDK.
    inner = error.__cause__ or error.__context__
    return _text(inner, "suggestion") or _suggestion(inner)


def _code(error: BaseException) -> str | None:
    # The argument of sys.exit is not an error code.
    return None if isinstance(error, SystemExit) else _text(error, "code")


def _errno_name(error: BaseException) -> str | None:
    if isinstance(error, OSError) and error.errno is not None and error.errno not in _DENIED:
        return errno.errorcode.get(error.errno)
    return None


def _text(error: BaseException | None, attribute: str) -> str | None:
    value = getattr(error, attribute, None)
    return _unicode(value) if isinstance(value, str) else None


def _unicode(text: str) -> str:
    """Replaces characters that are not Unicode, such as invalid bytes in a file name."""
    return text.encode(errors="backslashreplace").decode()
