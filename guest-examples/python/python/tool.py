"""The `python` tool: runs Python on the workdir, as `python3 -c CODE` and `python3 FILE ARGS` do, or a script over tools."""

import builtins
import io
import sys
import traceback
from importlib.machinery import PathFinder
from typing import Any

from toolhost import Context, ToolError

import library  # noqa: F401 – what programs can import
from output import Output
from script import script


def run(ctx: Context, input: dict[str, Any]) -> dict[str, Any]:
    """Runs a program to its end; what it prints is the output."""
    source, file = program(input)
    sys.argv = [file if "path" in input else "-c", *input.get("args", [])]
    sys.stdin = io.StringIO(input.get("stdin", ""))
    sys.stdout, sys.stderr = Output(), Output()
    # Other tools import no file of the workdir.
    sys.path.append(folder(file))
    sys.meta_path.append(PathFinder)
    exit_code = execute(source, file)
    truncated = sys.stdout.is_cut or sys.stderr.is_cut
    return {
        "exitCode": exit_code,
        "stdout": sys.stdout.text(),
        "stderr": sys.stderr.text(),
        **({"truncated": True} if truncated else {}),
    }


def program(input: dict[str, Any]) -> tuple[str | bytes, str]:
    """Returns the source and the name that tracebacks have."""
    match input:
        case {"code": code, "path": _}:
            raise ToolError("`code` and `path` are both given", code="TWO_PROGRAMS", suggestion="pass one of them")
        case {"code": code}:
            return code, "<code>"
        case {"path": path}:
            with open(path, "rb") as file:
                return file.read(), path
    raise ToolError("there is no program", code="NO_PROGRAM", suggestion="pass `code`, or the `path` of a file")


def folder(file: str) -> str:
    """Returns the folder whose modules the program can import."""
    above, slash, _ = file.rpartition("/")
    return "/" + above.lstrip("/") if slash else "/"


def execute(source: str | bytes, file: str) -> int:
    """Returns the exit code."""
    names = {"__name__": "__main__", "__builtins__": builtins, "__file__": file}
    try:
        exec(compile(source, file, "exec", dont_inherit=True), names)
    except SystemExit as exit:
        return exit_code(exit)
    except BaseException as error:
        error.__traceback__ = without_own(error)
        traceback.print_exception(error)
        return 1
    return 0


def exit_code(exit: SystemExit) -> int:
    """Does with the argument of `sys.exit` what Python does."""
    if exit.code is None:
        return 0
    if isinstance(exit.code, int):
        return exit.code & 0xFF
    print(exit.code, file=sys.stderr)
    return 1


def without_own(error: BaseException) -> Any:
    """Returns the frames of the program."""
    frames = error.__traceback__
    while frames and frames.tb_frame.f_globals.get("__name__") == __name__:
        frames = frames.tb_next
    return frames


handlers = {"run": run, "script": script}
