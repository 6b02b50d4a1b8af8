"""The messages of `toolhost rpc`; docs/rpc.md describes them."""

from typing import Any, Literal, TypedDict

#: A value of JSON.
Json = Any

#: Format of tools: the specification's, or that of a model's provider.
CatalogFormat = Literal["json", "openai", "anthropic", "mcp"]

#: Which tools catalogs and steps have: all, or those that find and call the others, in programs or by name.
Exposure = Literal["direct", "search", "script", "both"]

#: Format of the answers to a model.
AnswerFormat = Literal["openai", "anthropic", "ai-sdk", "mcp"]


class _ToolCallRequired(TypedDict):
    id: str
    name: str


class ToolCall(_ToolCallRequired, total=False):
    """A call of a tool, as a model makes it. `name` is such as `text__upper`."""

    args: dict[str, Json]


class _ToolErrorRequired(TypedDict):
    message: str
    code: str


class ToolError(_ToolErrorRequired, total=False):
    """The error of a failed call. `code` is for branching, `suggestion` is what to do next."""

    name: str
    suggestion: str
    helpUrl: str


#: A file of the workdir that a call changed. `from` is its path before the call, if it was renamed.
FileChange = TypedDict("FileChange", {"path": str, "kind": str, "from": str, "digest": str}, total=False)


class FileChanges(TypedDict):
    """The files of the workdir that a call changed."""

    files: list[FileChange]
    truncated: bool


class AwaitingApproval(TypedDict):
    """Why a result is pending: the call waits until a person consents, until `expiresAt`."""

    reason: Literal["awaiting-approval"]
    effect: Literal["call", "workdir", "http", "agents"]
    expiresAt: str


class _ApprovalRequired(TypedDict):
    id: str
    handle: str
    state: Literal["waiting", "approved", "denied", "expired", "ended"]
    bundle: str
    agent: str
    instance: str
    callId: str
    tool: str
    effect: Literal["call", "workdir", "http", "agents"]
    what: dict[str, Json] | None
    isOpen: bool
    digest: str
    createdAt: str
    expiresAt: str


class Approval(_ApprovalRequired, total=False):
    """A call that waits or waited for consent; docs/approvals.md describes `what`.

    `what` is None in lists, if it has more than 64 KiB, and once the call was cancelled before anybody decided. `isOpen` is
    whether the call still waits for it: what was decided is not done yet.
    """

    decision: dict[str, str]


class UndoRecord(TypedDict):
    """A call that can be undone. `bytes` are those of the files that it replaced or deleted."""

    id: str
    call: str
    committed: str
    files: list[str]
    bytes: int


class Undone(TypedDict):
    """A call that was undone, and the files that are as they were before it."""

    id: str
    call: str
    files: list[str]


class _ToolResultRequired(TypedDict):
    toolCallId: str
    toolName: str
    status: Literal["ok", "error", "pending"]


class ToolResult(_ToolResultRequired, total=False):
    """What a call returns: an `output`, an `error` or a `handle`, by its `status`.

    With `usage`, also the resources and the files that the call changed, if any.
    """

    output: Json
    error: ToolError
    handle: str
    details: AwaitingApproval
    usage: dict[str, Json]
    changes: FileChanges


class ExecutedMessage(TypedDict):
    """The results of a message's calls, and the answers for the model, both in the order of the calls."""

    results: list[ToolResult]
    answers: list[dict[str, Json]]


class Diagnostic(TypedDict, total=False):
    """A finding in a bundle."""

    severity: Literal["error", "warning", "note"]
    code: str
    message: str
    file: str
    line: int
    column: int
    help: str


class Instance(TypedDict, total=False):
    """An instance of an agent: one conversation, one workspace.

    `bundle` is an id that `load_bundle` returned, `workdir` the directory that the tools see as `/`
    (default: the instance's own workspace).
    """

    bundle: str
    agent: str
    key: str
    workdir: str


class AgentInfo(TypedDict):
    name: str
    tools: list[str]
    requiredTools: list[str]


class LoadedBundle(TypedDict):
    bundle: str
    agents: list[AgentInfo]
    diagnostics: list[Diagnostic]


class HostInfo(TypedDict):
    name: str
    version: str
    protocol: int
    servesBundle: bool
    limits: dict[str, int]


class TurnStatus(TypedDict):
    turn: str
    traceId: str
    requiredTools: list[str]
    requiredToolsSatisfied: bool
    steps: list[str]


#: An event of a turn, a step or a call: `{"type": "tool.completed", …}`; or `{"type": "lost", "count": 3}`.
#: `auth.granted` has `auth` in place of `agentName`, `instanceKey` and `turnId`.
HostEvent = dict[str, Json]
