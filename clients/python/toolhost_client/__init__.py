"""Runs tools in toolhost: a client of `toolhost rpc`.

    async with await Toolhost.spawn(bundle="my-bundle", workdir="/srv/project") as host:
        result = await host.execute({"id": "call_1", "name": "text__upper", "args": {"text": "hi"}})

docs/rpc.md describes the methods. A failed call of a tool is a result; what the server could not carry
out is an `RpcError`.
"""

from ._client import Toolhost
from ._errors import ClosedWithError, ConnectionLost, RpcError
from ._turn import Step, Turn
from ._types import (
    AgentInfo,
    Diagnostic,
    ExecutedMessage,
    FileChange,
    FileChanges,
    HostEvent,
    HostInfo,
    Instance,
    Json,
    LoadedBundle,
    ToolCall,
    ToolError,
    ToolResult,
    TurnStatus,
    Undone,
    Approval,
    AwaitingApproval,
    UndoRecord,
)

__all__ = [
    "AgentInfo",
    "ClosedWithError",
    "ConnectionLost",
    "Diagnostic",
    "ExecutedMessage",
    "FileChange",
    "FileChanges",
    "HostEvent",
    "HostInfo",
    "Instance",
    "Json",
    "LoadedBundle",
    "RpcError",
    "Step",
    "ToolCall",
    "ToolError",
    "ToolResult",
    "Toolhost",
    "Turn",
    "TurnStatus",
    "Approval",
    "AwaitingApproval",
    "UndoRecord",
    "Undone",
]
