"""A server of the Python SDK or of FastMCP, of any release: a number, data beside a text where the release has
both, and an error."""

import os

# FastMCP's banner looks for a newer release on the web.
os.environ["FASTMCP_SHOW_SERVER_BANNER"] = "false"

try:
    from fastmcp import FastMCP as Server
except ImportError:
    try:
        from mcp.server.fastmcp import FastMCP as Server
    except ImportError:  # Since 2.0.
        from mcp.server.mcpserver import MCPServer as Server

server = Server("sum")


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


@server.tool()
def page(name: str) -> dict:
    return {"name": name, "lines": [1, 2]}


@server.tool()
def fail(text: str) -> str:
    raise ValueError(text)


server.run()
