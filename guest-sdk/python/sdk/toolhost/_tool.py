"""A tool's module, ready to be called."""

import contextlib
import inspect
import json
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ._answer import Pending, to_json
from ._context import Context
from ._failure import ToolError, print_traceback
from ._handlers import Handler, handlers_of, polling_of
from ._waiting import finish

_SDK = os.path.dirname(__file__)


class Tool:
    """The handlers of a module."""

    def __init__(self, module: ModuleType, polls: bool) -> None:
        self.handlers: dict[str, Handler] = handlers_of(module)
        self._polling = polling_of(module, polls)
        folder, self.file_name = os.path.split(getattr(module, "__file__", None) or "")
        self._folder = f"{folder}/"

    def call(self, name: str, context: Context, input: str) -> str | Pending:
        """Runs a handler; returns its result as JSON text."""
        handler = self.handlers.get(name)
        if handler is None:
            raise ToolError(f"this tool has no handler `{name}`; its handlers are {', '.join(self.handlers)}")
        return self.run(handler.function, context, json.loads(input), handler.write)

    def exports(self) -> list[dict[str, Any]]:
        """Returns what a manifest says of each handler."""
        said = [
            {
                "name": it.name,
                "description": it.description,
                "parameters": it.parameters,
                "outputSchema": it.output_schema,
            }
            for it in self.handlers.values()
        ]
        return [{key: value for key, value in it.items() if value is not None} for it in said]

    def poll(self, context: Context, handle: str) -> str | Pending:
        """Polls a pending handle."""
        # Which handler the handle is from is not known.
        write = next((it.write for it in self.handlers.values() if it.write is not to_json), to_json)
        return self.run(self._polling[0], context, handle, write)

    def cancel(self, context: Context, handle: str) -> None:
        """Cancels a pending handle. Errors are ignored: no caller waits for them."""
        with contextlib.suppress(BaseException):
            self.run(self._polling[1], context, handle)

    def run(
        self,
        function: Callable[[Any, Any], Any],
        context: Context,
        argument: Any,
        write: Callable[[Any], str] = to_json,
    ) -> str | Pending:
        """Runs a function of the module; returns its result as JSON text."""
        try:
            result = function(context, argument)
            if inspect.iscoroutine(result):
                result = finish(result)
            if isinstance(result, Pending):
                return self._pending(result)
            return write(result)
        except BaseException as error:
            print_traceback(error, _SDK, self._folder)
            raise
        finally:
            sys.stdout.flush()
            sys.stderr.flush()

    def _pending(self, pending: Pending) -> Pending:
        if self._polling is None:
            raise ToolError(
                "the handler returned Pending, but its module has no `polling`",
                suggestion="the caller cannot change this: the author must correct the tool",
            )
        return pending
