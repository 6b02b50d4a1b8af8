"""The context of a call."""

import json
import logging
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NoReturn

from ._failure import ToolError

if TYPE_CHECKING:
    from ._tools import Tools


class NoTools:
    """Stands in for the tools where there are none."""

    def __getitem__(self, name: str) -> NoReturn:
        raise ToolError(
            "this component does not import `goondan:tool/tools`, and so cannot call tools",
            suggestion="the author must write `ctx.tools` in the entry or a module that it imports; a test passes `tools=`",
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self[name]


# What contexts of other frameworks have, and what there is in its place.
_LOG = "log with `ctx.logger.info(...)`: the operator reads it, and the model does not"
_STATE = "each call starts anew: keep state in files of the workdir"
_ELSEWHERE = {
    **dict.fromkeys(("debug", "info", "warning", "error", "log"), _LOG),
    "report_progress": f"a call has no progress; {_LOG}",
    **dict.fromkeys(("get_state", "set_state", "state", "lifespan_context"), _STATE),
    "request_id": "use `ctx.tool_call_id`",
    **dict.fromkeys(("session", "session_id", "client_id"), "use `ctx.instance_key`: its calls share one workspace"),
    **dict.fromkeys(("sample", "elicit"), "a tool cannot ask the model or its user: return what it needs to know"),
    **dict.fromkeys(("read_resource", "list_resources"), "read files of the workdir"),
}


@dataclass(frozen=True)
class Context:
    """The context of one call. The host creates it; a test may leave out any field."""

    agent_name: str = ""
    """Name of the agent whose step this call belongs to."""

    instance_key: str = ""
    """Key of the agent instance. Calls of one key share one workspace."""

    turn_id: str = ""
    """Id of the turn."""

    tool_call_id: str = ""
    """Id of this call, from the model's message."""

    message: dict[str, Any] = field(default_factory=dict)
    """The assistant message that holds this call."""

    workdir: str = "/"
    """The working directory as the tool sees it; relative paths start here."""

    trace_id: str | None = None
    """Id that connects everything that belongs to one request, if the runtime sets one."""

    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("tool"))
    """The operator's log. The model never sees it."""

    tools: "Tools" = field(default_factory=NoTools)  # type: ignore[assignment]
    """The other tools that the operator's policy lets this one call."""

    def __getattr__(self, name: str) -> Any:
        instead = _ELSEWHERE.get(name) or f"it has {', '.join(it.name for it in fields(self))}"
        raise AttributeError(f"the context of a call has no `{name}`: {instead}")


class CallContext(Context):
    """The context that the host gives. Most handlers do not read the message, so it is parsed when one does."""

    def __init__(self, message_json: str, **fields: Any) -> None:
        self.__dict__.update(fields, _message_json=message_json, logger=logging.getLogger("tool"))

    def __getattr__(self, name: str) -> Any:
        if name != "message":
            return super().__getattr__(name)
        return self.__dict__.setdefault("message", json.loads(self.__dict__["_message_json"]))
