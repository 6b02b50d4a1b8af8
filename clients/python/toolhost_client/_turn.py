"""Turns and steps."""

from typing import Any

from ._connection import Connection
from ._errors import ClosedWithError
from ._types import AnswerFormat, CatalogFormat, ExecutedMessage, Json, ToolCall, ToolResult, TurnStatus


async def _closed(connection: Connection, method: str, params: dict[str, Any]) -> Json:
    end = await connection.request(method, params)
    if "error" in end:
        raise ClosedWithError(end["error"])
    return end["answer"]


def given(**params: Any) -> dict[str, Any]:
    """The parameters that are not None."""
    return {name: value for name, value in params.items() if value is not None}


class Step:
    """The tools that a model sees at one time, and their calls, which may run at once."""

    def __init__(self, connection: Connection, step: str, tools: list[dict[str, Json]]) -> None:
        self._connection = connection
        self.id = step
        #: The tools, in the format that was asked for.
        self.tools = tools

    async def execute_all(
        self, message: Json, *, format: AnswerFormat = "openai", usage: bool = False
    ) -> ExecutedMessage:
        """Executes the calls of the assistant's message at the same time."""
        params = {"step": self.id, "message": message, "format": format, "usage": usage}
        executed: ExecutedMessage = await self._connection.request("message/execute", params)
        return executed

    async def execute(self, call: ToolCall, *, message: Json = None, usage: bool = False) -> ToolResult:
        """Executes a call; a failed call is a result too. `message` is the assistant's message."""
        return await self._call("call/execute", call, message, usage)

    async def submit(self, call: ToolCall, *, message: Json = None, usage: bool = False) -> ToolResult:
        """Executes a call in the background: the result is `pending` with a handle."""
        return await self._call("call/submit", call, message, usage)

    async def close(self, answer: Json = None) -> Json:
        """Ends the step. Returns the answer, as middleware left it."""
        return await _closed(self._connection, "step/close", {"step": self.id, "answer": answer})

    async def fail(self, message: str, **error: str) -> Json:
        """Ends the step with an error; a middleware may still make an answer of it."""
        params = {"step": self.id, "error": {"message": message, **error}}
        return await _closed(self._connection, "step/close", params)

    async def _call(self, method: str, call: ToolCall, message: Json, usage: bool) -> ToolResult:
        params = given(step=self.id, call=call, message=message, usage=usage)
        result: ToolResult = await self._connection.request(method, params)
        return result


class Turn:
    """The steps of an agent for one input. Close it, so that its middleware runs to the end."""

    def __init__(self, connection: Connection, opened: dict[str, Any]) -> None:
        self._connection = connection
        self.id: str = opened["turn"]
        self.trace_id: str = opened["traceId"]
        #: Tools of which one must succeed in the turn.
        self.required_tools: list[str] = opened["requiredTools"]

    async def open_step(self, *, format: CatalogFormat = "json") -> Step:
        """Opens a step. Its tools do not change."""
        params = {"turn": self.id, "format": format}
        opened = await self._connection.request("step/open", params)
        return Step(self._connection, opened["step"], opened["tools"])

    async def status(self) -> TurnStatus:
        status: TurnStatus = await self._connection.request("turn/status", {"turn": self.id})
        return status

    async def poll(self, handle: str) -> ToolResult:
        """Polls a pending call: its result, or `pending` again."""
        params = {"turn": self.id, "handle": handle}
        result: ToolResult = await self._connection.request("call/poll", params)
        return result

    async def cancel(self, handle: str) -> ToolResult:
        """Cancels a pending call."""
        params = {"turn": self.id, "handle": handle}
        result: ToolResult = await self._connection.request("call/cancel", params)
        return result

    async def close(self, answer: Json = None) -> Json:
        """Ends the turn. Returns the answer, as middleware left it."""
        return await _closed(self._connection, "turn/close", {"turn": self.id, "answer": answer})

    async def fail(self, message: str, **error: str) -> Json:
        """Ends the turn with an error; a middleware may still make an answer of it."""
        params = {"turn": self.id, "error": {"message": message, **error}}
        return await _closed(self._connection, "turn/close", params)
