"""The errors of the client."""

from ._types import Diagnostic, ToolError


class RpcError(Exception):
    """The server could not carry out a request.

    `number` is that of JSON-RPC, `code` is for branching (such as `E_RPC_NOT_FOUND`), `suggestion` is
    what to do next, `diagnostics` are the findings of a bundle that did not load.
    """

    def __init__(
        self, number: int, message: str, code: str, suggestion: str, diagnostics: list[Diagnostic]
    ) -> None:
        super().__init__(message)
        self.number = number
        self.code = code
        self.suggestion = suggestion
        self.diagnostics = diagnostics


class ConnectionLost(Exception):
    """The server could not be reached, or the connection ended."""


class ClosedWithError(Exception):
    """A turn or a step ended with an error."""

    def __init__(self, error: ToolError) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.error = error
