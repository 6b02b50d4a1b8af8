"""The types of a tool written in Python: its context, its pending results and its errors.

A tool is a function with annotations:

    from toolhost import tool

    @tool
    def read(path: str, limit: int = 100) -> list[str]:
        \"\"\"Reads the first lines of a text file.\"\"\"
        with open(path) as file:
            return [line for line, _ in zip(file, range(limit))]

This package needs no host: a test may import the tool and call `read("a.txt")`.
"""

from ._answer import JsonValue, Pending
from ._context import Context
from ._failure import ToolCallError, ToolError
from ._handlers import handler
from ._mark import tool
from ._param import Param

__all__ = ["Context", "JsonValue", "Param", "Pending", "ToolCallError", "ToolError", "handler", "tool"]
