"""The types of a tool written in Python: its context, its pending results and its errors.

A tool is a module with a dict of handlers:

    from toolhost import Context, ToolError

    def read(ctx: Context, input: dict) -> dict:
        \"\"\"Reads a text file of the workdir.\"\"\"
        with open(input["path"]) as file:
            return {"content": file.read()}

    handlers = {"read": read}

This package needs no host: a test may import the tool and call `read(Context(), {...})`.
"""

from ._answer import JsonValue, Pending
from ._context import Context
from ._failure import ToolError
from ._handlers import handler

__all__ = ["Context", "JsonValue", "Pending", "ToolError", "handler"]
