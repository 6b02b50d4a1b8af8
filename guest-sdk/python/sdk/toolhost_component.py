"""The component's exports, over the tool's module.

componentize-py imports this module while it builds, and keeps the interpreter as it then is. It
runs in the folder of the build: what is wrong with the tool is written to `report.json` there.
"""

import contextlib
import gc
import importlib
import json
import os
import sys
import traceback
import weakref
from functools import partial
from typing import Any

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import logging as host_log

try:
    from wit_world.imports import types
except ImportError:
    # Another interface of this name is imported too.
    from wit_world.imports import goondan_tool_types as types

from toolhost import Context, Pending
from toolhost._closed import close
from toolhost._context import CallContext, NoTools
from toolhost._failure import failure_of
from toolhost._handle import Finalizer
from toolhost._handlers import HandlersError
from toolhost._hashes import settle_hashlib
from toolhost._heap import settle_heap
from toolhost._late import settle_imports
from toolhost._log import settle_logging
from toolhost._tool import Tool
from toolhost._waiting import prepare_loop, settle_asyncio
from toolhost._warm_up import warm_up

HERE = os.path.dirname(__file__)

# CPython's own, which a tool may have replaced.
GC_THRESHOLD = gc.get_threshold()
# New objects until unreachable cycles are looked for. Most calls end earlier, and their memory with them.
GC_THRESHOLD_OF_CALLS = 20_000


# Of the library: the runtime keeps what is in its place when this module was imported.
FINALIZE = weakref.finalize

# What is done with modules once they are imported.
THEN = {
    "hashlib": settle_hashlib,
    # A file of the workdir is no time zone.
    "zoneinfo": lambda zoneinfo: zoneinfo.reset_tzpath(()),
}


def load() -> Tool:
    """Imports the tool's module, and prepares the interpreter for calls."""
    with open(os.path.join(HERE, "entry.json")) as file:
        entry = json.load(file)
    # componentize-py keeps the list of the base, and adds the arguments of a call to it.
    sys.argv = [f"{entry['module']}.py"]
    close()
    if entry["web"]:
        from toolhost import _web

        _web.open_web()
    # The base has looked into the folder before the tool's modules were there.
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(entry["module"])
        tool = Tool(module, polls=hasattr(exports, "Polling"))
        with open(os.path.join(HERE, "exports.json"), "w") as file:
            json.dump(tool.exports(), file)
    except BaseException as error:
        report(error, entry)
        raise SystemExit(1) from None
    settle_loop = settle_asyncio
    if entry["tools"]:
        settle_loop = partial(settle_asyncio, selector=open_tools())
    if entry["web"]:
        _web.import_rest()
        settle_loop = _web.settle_web
    settle_logging(host_log.log, host_log.Level)
    settle_imports(os.path.dirname(module.__file__), {**THEN, "asyncio": settle_loop})
    sys.stdout.flush()
    return tool


def report(error: BaseException, entry: dict[str, str]) -> None:
    """Writes the error of an invalid module to a file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [(it.filename, it.lineno) for it in frames if it.filename.startswith(entry["folder"])]
    place = own[-1] if own else (None, None)
    if isinstance(error, SyntaxError):
        place = error.filename, error.lineno
    elif isinstance(error, HandlersError) and error.file:
        place = error.file, error.line
    found = {
        "kind": type(error).__name__,
        "message": str(error),
        "missing": error.name if isinstance(error, ModuleNotFoundError) else None,
        "file": place[0],
        "line": place[1],
        "is_handlers": isinstance(error, HandlersError),
    }
    with open(os.path.join(HERE, "report.json"), "w") as file:
        json.dump(found, file)


def open_tools() -> type:
    """Lets handlers call tools. Returns the selector for event loops that wait for calls."""
    global TOOLS
    from toolhost._pollables import Selector
    from toolhost._tools import Tools
    from wit_world.imports import tools

    TOOLS = Tools(tools)
    return Selector


# None in the base, until a build imports a tool.
TOOL: Tool | None = None
TOOLS: Any = NoTools()
FILLING: list[Any] = []


class Handlers(exports.Handlers):
    """The contract's `handlers`."""

    def describe(self) -> list[types.ExportSpec]:
        return [
            types.ExportSpec(it.name, it.description, None if it.parameters is None else json.dumps(it.parameters))
            for it in (TOOL.handlers.values() if TOOL else ())
        ]

    def call(self, name: str, context: types.ToolContext, input: str) -> types.Outcome:
        return answer(TOOL.call, name, read(context), input)


if hasattr(exports, "Polling"):

    class Polling(exports.Polling):
        """The contract's `polling`."""

        def poll(self, context: types.ToolContext, handle: str) -> types.Outcome:
            return answer(TOOL.poll, read(context), handle)

        def cancel(self, context: types.ToolContext, handle: str) -> None:
            TOOL.cancel(read(context), handle)


def answer(run: Any, *arguments: Any) -> types.Outcome:
    """Runs a function and converts its result to the contract's types."""
    # componentize-py empties it when a call begins.
    if not sys.argv:
        sys.argv = [TOOL.file_name]
        weakref.finalize = FINALIZE
    try:
        result = run(*arguments)
    except BaseException as error:
        failure = failure_of(error)
        raise Err(types.ToolError(**vars(failure))) from None
    if isinstance(result, Pending):
        return types.Outcome_Pending(result.handle)
    return types.Outcome_Output(result)


def read(context: types.ToolContext) -> Context:
    """Makes the context of a handler."""
    return CallContext(
        context.message,
        agent_name=context.agent_name,
        instance_key=context.instance_key,
        turn_id=context.turn_id,
        tool_call_id=context.tool_call_id,
        workdir=context.workdir,
        trace_id=context.trace_id,
        tools=TOOLS,
    )


def settle() -> list[Any]:
    """Prepares the memory that every call starts with, once all modules are there."""
    # A tool may have replaced functions that this calls: then its calls start without it.
    with contextlib.suppress(Exception):
        warm_up(call_with, os.path.join(HERE, "entry.json"))
    if "toolhost._tools" in sys.modules:
        from toolhost._tools_warm_up import warm_up as warm_up_tools

        warm_up_tools()
    if "toolhost._web" in sys.modules:
        from toolhost._web.warm_up import warm_up as warm_up_web

        warm_up_web()
    prepare_loop()
    # Objects that exist now are never garbage: a call need not scan them.
    gc.collect()
    if gc.get_threshold() == GC_THRESHOLD:
        gc.set_threshold(GC_THRESHOLD_OF_CALLS, *GC_THRESHOLD[1:])
    filling = settle_heap()
    gc.freeze()
    return filling


def call_with(function: Any, argument: Any) -> types.Outcome:
    """Calls a function as the host calls a handler."""
    context = types.ToolContext(
        agent_name="", instance_key="", turn_id="", tool_call_id="", trace_id=None, message="{}", workdir="/"
    )
    return answer(TOOL.run, function, read(context), argument)


def start() -> None:
    """Imports the tool, and prepares the interpreter and its memory for calls."""
    global TOOL, FILLING
    if os.path.exists("/compile/folders.json"):
        compile_files("/compile/folders.json")
        return
    weakref.finalize = FINALIZE
    TOOL = load()
    FILLING = settle()


if os.path.exists(os.path.join(HERE, "entry.json")):
    start()
else:
    from toolhost_base import compile_files, keep_files, reserve_memory

    keep_files(os.path.join(HERE, "library"))
    gc.collect()
    settle_heap()
    STATE = reserve_memory(b"import toolhost_component as component; component.start()")
weakref.finalize = Finalizer
