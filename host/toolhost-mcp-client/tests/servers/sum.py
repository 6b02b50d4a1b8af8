"""A server of the Python SDK, of any release: a number, and data beside a text where the release has both."""

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


server.run()
