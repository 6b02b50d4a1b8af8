"""JSON-RPC over two streams, one message per line."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from ._errors import ConnectionLost, RpcError
from ._line import to_line

#: Longest line of the server, in bytes.
LINE_BYTES_MAX = 1 << 30


async def _closed() -> str:
    return "the server has closed the connection"


class Connection:
    """Sends requests and receives their answers and the notifications of the server."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        reason: Callable[[], Awaitable[str]] = _closed,
    ) -> None:
        """`reason` says why the server closed the connection."""
        self._writer = writer
        self._reason = reason
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._last_id = 0
        self._ended: ConnectionLost | None = None
        self.on_notification: Callable[[str, Any], None] = lambda _method, _params: None
        self.on_end: Callable[[], None] = lambda: None
        self._reading = asyncio.create_task(self._read(reader))

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Sends a request. If this task is cancelled, the server drops the request."""
        if self._ended:
            raise self._ended
        self._last_id += 1
        request_id = self._last_id
        line = to_line({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        try:
            self._send(line)
            await self._drain()
            return await answer
        except asyncio.CancelledError:
            cancel = {"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": request_id}}
            self._send(to_line(cancel))
            raise
        finally:
            self._waiting.pop(request_id, None)

    def end(self, reason: str) -> None:
        """Fails the requests that are not answered, and those to come."""
        if self._ended:
            return
        self._ended = ConnectionLost(reason)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionLost(reason))
        self._reading.cancel()
        self.on_end()

    async def close(self) -> None:
        """Ends the connection."""
        self.end("the connection was closed")
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass  # The server was faster.

    def _send(self, line: bytes) -> None:
        if self._ended is None:
            self._writer.write(line)

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError:
            self.end(await self._reason())

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                self._handle(json.loads(line))
            self.end(await self._reason())
        except (OSError, ValueError) as error:
            self.end(f"the server sent a line that cannot be read: {error}")

    def _handle(self, message: dict[str, Any]) -> None:
        if "method" in message:
            self.on_notification(message["method"], message.get("params"))
            return
        if message.get("id") is None:
            self.end(f"the server could not read a message: {message['error']['message']}")
            return
        answer = self._waiting.get(message["id"])
        if answer is None or answer.done():
            return
        if "error" not in message:
            answer.set_result(message["result"])
            return
        error = message["error"]
        data = error.get("data") or {}
        answer.set_exception(
            RpcError(
                error["code"],
                error["message"],
                data.get("code", ""),
                data.get("suggestion", ""),
                data.get("diagnostics", []),
            )
        )
