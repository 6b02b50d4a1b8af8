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

    def __init__(
        self, module: ModuleType, polls: bool, environment: Callable[[], list[tuple[str, str]]]
    ) -> None:
        self.handlers: dict[str, Handler] = handlers_of(module)
        self._environment = environment
        self._polling = polling_of(module, polls)

    def call(self, name: str, context: Context, input: str) -> str | Pending:
        """Runs a handler; returns its result as JSON text."""
        handler = self.handlers.get(name)
        if handler is None:
            raise ToolError(f"this tool has no handler `{name}`; its handlers are {', '.join(self.handlers)}")
        return self._run(handler.function, context, json.loads(input))

    def poll(self, context: Context, handle: str) -> str | Pending:
        """Polls a pending handle."""
        return self._run(self._polling[0], context, handle)

    def cancel(self, context: Context, handle: str) -> None:
        """Cancels a pending handle. Errors are ignored: no caller waits for them."""
        with contextlib.suppress(BaseException):
            self._run(self._polling[1], context, handle)

    def _run(self, function: Callable[[Any, Any], Any], context: Context, argument: Any) -> str | Pending:
        self._be_fresh()
        try:
            result = function(context, argument)
            if inspect.iscoroutine(result):
                result = finish(result)
            if isinstance(result, Pending):
                return self._pending(result)
            return to_json(result)
        except BaseException as error:
            print_traceback(error, _SDK)
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

    def _be_fresh(self) -> None:
        """Resets the state that every call would otherwise inherit from the build."""
        os.environ.clear()
        os.environ.update(self._environment())
        if random := sys.modules.get("random"):
            random.seed()
