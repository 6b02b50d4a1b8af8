"""A connection to a server."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from ._connection import LINE_BYTES_MAX, Connection
from ._errors import ConnectionLost
from ._server import Server, StrPath
from ._turn import Turn, given
from ._types import (
    AgentInfo,
    CatalogFormat,
    Exposure,
    HostEvent,
    HostInfo,
    Instance,
    Json,
    LoadedBundle,
    ToolCall,
    ToolResult,
    Undone,
    Approval,
    UndoRecord,
)

#: Events that wait to be read before new ones are lost.
EVENT_QUEUE = 1024


class Toolhost:
    """A connection to a server. Close it, or use it as a context manager."""

    def __init__(self, connection: Connection, ended: Callable[[], Awaitable[None]]) -> None:
        self._connection = connection
        self._ended = ended
        self._events: _EventQueue | None = None
        connection.on_notification = self._notified
        connection.on_end = self._end_events

    @classmethod
    async def spawn(
        cls,
        bundle: StrPath | None = None,
        *,
        agent: str | None = None,
        instance: str | None = None,
        workdir: StrPath | None = None,
        policy: StrPath | None = None,
        approvers: StrPath | None = None,
        state_root: StrPath | None = None,
        tools: Exposure | None = None,
        program: StrPath = "toolhost",
        env: dict[str, str] | None = None,
    ) -> "Toolhost":
        """Starts a server with the options of `toolhost rpc`. Without a bundle, load one.

        `approvers` is a file of who may decide about calls that wait: lines `NAME TOKEN`.
        """
        named = given(
            agent=agent, instance=instance, workdir=workdir, policy=policy, approvers=approvers, tools=tools
        )
        if state_root is not None:
            named["state-root"] = state_root
        words = [word for name, value in named.items() for word in (f"--{name}", os.fspath(value))]
        if bundle is not None:
            words += ["--", os.fspath(bundle)]
        server = await Server.start(program, words, env)
        connection = Connection(server.reader, server.writer, server.reason)
        return cls(connection, server.end)

    @classmethod
    async def connect(cls, path: StrPath) -> "Toolhost":
        """Connects to the socket of a server that was started with `toolhost rpc --socket PATH`."""
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=LINE_BYTES_MAX)
        except OSError as error:
            raise ConnectionLost(f"{os.fspath(path)}: {error}") from error

        async def ended() -> None:
            pass

        return cls(Connection(reader, writer), ended)

    async def __aenter__(self) -> "Toolhost":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connection, and a server that was started for it. Calls that run are stopped."""
        await self._connection.close()
        await self._ended()

    async def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Sends a request of docs/rpc.md."""
        return await self._connection.request(method, params or {})

    async def info(self) -> HostInfo:
        """Describes the server and its limits."""
        info: HostInfo = await self.request("host/info")
        return info

    async def load_bundle(self, path: StrPath) -> LoadedBundle:
        loaded: LoadedBundle = await self.request("bundle/load", {"path": _absolute(path)})
        return loaded

    async def unload_bundle(self, bundle: str) -> None:
        await self.request("bundle/unload", {"bundle": bundle})

    async def agents(self, bundle: str | None = None) -> list[AgentInfo]:
        agents: list[AgentInfo] = (await self.request("agents/list", given(bundle=bundle)))["agents"]
        return agents

    async def catalog(
        self, *, bundle: str | None = None, agent: str | None = None, format: CatalogFormat = "json"
    ) -> list[dict[str, Json]]:
        """Returns the tools with which an agent's next step starts."""
        params = given(bundle=bundle, agent=agent, format=format)
        tools: list[dict[str, Json]] = (await self.request("catalog/get", params))["tools"]
        return tools

    async def open_turn(
        self,
        *,
        instance: Instance | None = None,
        input: Json = None,
        trace_id: str | None = None,
        subject: str | None = None,
    ) -> Turn:
        """Opens a turn. `input` is for middleware, `subject` the user whose grants of OAuthApps the calls use."""
        params = given(instance=_located(instance), input=input, traceId=trace_id, subject=subject)
        return Turn(self._connection, await self.request("turn/open", params))

    async def execute(
        self, call: ToolCall, *, instance: Instance | None = None, message: Json = None, usage: bool = False
    ) -> ToolResult:
        """Executes one call in a turn of its own; a failed call is a result too."""
        params = given(call=call, instance=_located(instance), message=message, usage=usage)
        result: ToolResult = await self.request("call/execute", params)
        return result

    async def script(
        self,
        language: Literal["javascript", "python"],
        code: str,
        *,
        args: Json = None,
        instance: Instance | None = None,
        usage: bool = False,
    ) -> ToolResult:
        """Executes a program that calls tools: a call of `javascript__script` or `python__script`.

        The output's `result` is what the program returns. It finds `args` as `args`.
        """
        call: ToolCall = {"id": "script", "name": f"{language}__script", "args": given(code=code, args=args)}
        return await self.execute(call, instance=instance, usage=usage)

    async def submit(
        self, call: ToolCall, *, instance: Instance | None = None, message: Json = None, usage: bool = False
    ) -> ToolResult:
        """Executes one call in the background: the result is `pending` with a handle."""
        params = given(call=call, instance=_located(instance), message=message, usage=usage)
        result: ToolResult = await self.request("call/submit", params)
        return result

    async def poll(self, handle: str, *, instance: Instance | None = None) -> ToolResult:
        """Polls a pending call: its result, or `pending` again."""
        params = given(handle=handle, instance=_located(instance))
        result: ToolResult = await self.request("call/poll", params)
        return result

    async def cancel(self, handle: str, *, instance: Instance | None = None) -> ToolResult:
        """Cancels a pending call."""
        params = given(handle=handle, instance=_located(instance))
        result: ToolResult = await self.request("call/cancel", params)
        return result

    async def undo_list(self, *, instance: Instance | None = None) -> list[UndoRecord]:
        """Lists the calls in an instance's workdir that can be undone, the newest first."""
        calls: list[UndoRecord] = (await self.request("undo/list", given(instance=_located(instance))))["calls"]
        return calls

    async def undo(self, id: str | None = None, *, instance: Instance | None = None) -> Undone:
        """Undoes the newest call in an instance's workdir, or the one with this id."""
        params = given(id=id, instance=_located(instance))
        undone: Undone = (await self.request("undo/run", params))["undone"]
        return undone

    async def approvals(self, token: str, *, all: bool = False) -> list[Approval]:
        """Lists the calls that wait for consent, the newest first. `token` is that of an approver, which no agent has."""
        params = {"token": token, "all": all}
        approvals: list[Approval] = (await self.request("approvals/list", params))["approvals"]
        return approvals

    async def approval(self, token: str, id: str) -> Approval:
        """Returns one approval, with all that the call would do."""
        approval: Approval = (await self.request("approvals/get", {"token": token, "id": id}))["approval"]
        return approval

    async def approve(self, token: str, id: str, *, why: str | None = None) -> Approval:
        """Lets a call do what it waits for."""
        params = given(token=token, id=id, why=why)
        approval: Approval = (await self.request("approvals/approve", params))["approval"]
        return approval

    async def deny(self, token: str, id: str, *, why: str | None = None) -> Approval:
        """Refuses what a call waits for; the model reads why."""
        params = given(token=token, id=id, why=why)
        approval: Approval = (await self.request("approvals/deny", params))["approval"]
        return approval

    async def events(self, *, agent: str | None = None, key: str | None = None) -> AsyncIterator[HostEvent]:
        """Subscribes to events, in place of an earlier subscription. Iterate over what it returns."""
        self._end_events()
        self._events = events = _EventQueue()
        await self.request("events/subscribe", given(agent=agent, key=key))
        return events

    async def end_events(self) -> None:
        """Ends the subscription."""
        self._end_events()
        await self.request("events/unsubscribe")

    def _notified(self, method: str, params: Any) -> None:
        if self._events is not None and method == "events/event":
            self._events.add(params)
        elif self._events is not None and method == "events/lost":
            self._events.lost += params["count"]

    def _end_events(self) -> None:
        if self._events is not None:
            self._events.end()
            self._events = None


class _EventQueue(AsyncIterator[HostEvent]):
    """The events of a subscription, in order."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[HostEvent | None] = asyncio.Queue(EVENT_QUEUE + 1)
        self.lost = 0

    def add(self, event: HostEvent) -> None:
        if self._queue.qsize() < EVENT_QUEUE:
            self._queue.put_nowait(event)
        else:
            self.lost += 1

    def end(self) -> None:
        with suppress(asyncio.QueueFull):
            self._queue.put_nowait(None)

    async def __anext__(self) -> HostEvent:
        if self._queue.empty() and self.lost:
            count, self.lost = self.lost, 0
            return {"type": "lost", "count": count}
        event = await self._queue.get()
        if event is None:
            self.end()
            raise StopAsyncIteration
        return event


def _absolute(path: StrPath) -> str:
    """The server takes absolute paths: its current directory may be another."""
    return str(Path(path).absolute())


def _located(instance: Instance | None) -> Instance | None:
    if instance is None or "workdir" not in instance:
        return instance
    return {**instance, "workdir": _absolute(instance["workdir"])}
