"""The handler `script`: runs a program that calls the other tools of the step, and returns its value."""

import asyncio
import builtins
import inspect
import json
import linecache
import sys
import warnings
from types import ModuleType
from typing import Any

from toolhost import Context, ToolCallError
from toolhost._answer import NotJson
from toolhost._plain import typed_text

from mistakes import NoResult, NotAwaited, error_of
from output import Output
from program import FILE, script_function, unreturned

# Bytes that are kept of the log.
LOG = 16 << 10

# The kit's function that calls a tool, and the script. More frames take longer than a call.
_DEPTH = 2


def script(ctx: Context, input: dict[str, Any]) -> dict[str, Any]:
    """Runs a program to its end; what it returns is the result, and what it prints the log."""
    source = input["code"]
    log = sys.stdout = sys.stderr = Output(LOG)
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    # Classes look for their module, to know what their annotations mean.
    main = sys.modules["__main__"] = ModuleType("__main__")
    names = vars(main)
    names |= {
        "__builtins__": builtins,
        "tools": ctx.tools,
        "args": input.get("args", {}),
        "asyncio": asyncio,
        "json": json,
        "ToolCallError": ToolCallError,
    }
    result = None
    try:
        text, note = run(source, names)
        result = json.loads(text)
        if note and result is None:
            log.write(f"note: {note}\n")
    except BaseException as error:
        # To end a program without an error is to return nothing.
        if not isinstance(error, SystemExit) or error.code not in (None, 0):
            raise error_of(error, names, log.text()) from None
    text = log.text()
    return {"result": result, "log": text} if text else {"result": result}


def run(source: str, names: dict[str, Any]) -> tuple[str, str | None]:
    """Returns the value of a script as JSON, and what to tell if it is null. Raises NoResult, or NotAwaited where it has not waited for all it began."""
    unfinished = Unfinished()
    function = script_function(source, names)
    result = unfinished.watch(function) if inspect.iscoroutinefunction(function) else function()
    if inspect.iscoroutine(result):
        unfinished.add_coroutine(result)
        unfinished.check()
    try:
        text = typed_text(result, "result")
    except NotJson as error:
        raise NoResult(f"the result is not JSON: {error}") from None
    note = None if result is not None else unreturned(source, names)
    # What only a variable refers to is not awaited any more.
    del function, result
    names.clear()
    unfinished.check()
    return text, note


class Unfinished:
    """What a script has begun, and neither awaited nor cancelled."""

    def __init__(self) -> None:
        self._found: list[tuple[str, int | None]] = []
        self._failed: list[BaseException] = []
        sys.set_coroutine_origin_tracking_depth(_DEPTH)
        warnings._warn_unawaited_coroutine = self.add_coroutine
        # Called by asyncio.run at its end.
        self._cancel = asyncio.runners._cancel_all_tasks
        asyncio.runners._cancel_all_tasks = self._end

    def watch(self, function: Any) -> Any:
        """Runs an `async` function to its end, in an event loop."""
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(self._add_failure)
        task = loop.create_task(function())
        try:
            return loop.run_until_complete(task)
        except RuntimeError as error:
            if task.done():
                raise
            # The event loop has nothing to wait for.
            raise NotAwaited(f"{error}", task.get_stack()[-1].f_lineno) from None
        finally:
            if task.done():
                self._add_tasks(loop)
            loop.close()

    def add_coroutine(self, coroutine: Any) -> None:
        """Adds a coroutine that nobody awaits any more."""
        name = coroutine.__qualname__
        what = "a call of a tool" if name in ("Tools._await", "Unlisted._await") else f"`{name}`"
        self._found.append((f"{what} is not awaited, so nothing of it was done", _origin(coroutine)))

    def check(self) -> None:
        """Raises an error for the first that was found."""
        if self._failed:
            raise self._failed[0]
        for text, line in self._found:
            raise NotAwaited(text, line)

    def _end(self, loop: Any) -> None:
        self._add_tasks(loop)
        self._cancel(loop)

    def _add_tasks(self, loop: Any) -> None:
        for task in asyncio.all_tasks(loop):
            if not task.cancelling():
                self._found.append(("a task still runs at the end of the script", _origin(task.get_coro())))

    def _add_failure(self, loop: Any, context: dict[str, Any]) -> None:
        """Adds the exception of a task that nobody awaits."""
        if error := context.get("exception"):
            self._failed.append(error)


def _origin(coroutine: Any) -> int | None:
    """Returns the line of the script in which a coroutine was made."""
    return next((line for file, line, _ in getattr(coroutine, "cr_origin", None) or () if file == FILE), None)


def _warm_up() -> None:
    """Runs what scripts run while the component is built: this fills the interpreter's caches."""
    sample = """
import json as _json
rows: list[dict[str, object]] = [{"n": n, "text": f"{n}"} for n in range(3)]
def f(row):
    try:
        return row["n"] + len(row["text"])
    except KeyError as error:
        return str(error)
total = 0
for row in rows:
    if row["n"] or not total:
        total += f(row)
{"total": total, "rows": sorted(rows, key=lambda row: -row["n"])}
"""
    for _ in range(16):
        for source in (sample, f"async def g(): return 1\n{sample}\nawait g()", ""):
            function = script_function(source, {"__builtins__": builtins, "__name__": "__main__"})
            typed_text(None if inspect.iscoroutinefunction(function) else function(), "result")
        Output(LOG).text()
        ModuleType("__main__")
        error_of(ZeroDivisionError("division by zero"), {}, "")


_warm_up()
