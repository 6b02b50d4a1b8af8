"""`toolhost serve` for the tests: the binary of $TOOLHOST, and the guests of $TOOLHOST_GUESTS."""

import asyncio
import contextlib
import os
import re
import shutil
import tempfile
import unittest
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

FIXTURE = Path(__file__).resolve().parent.parent
PROGRAM = os.environ["TOOLHOST"]
GUESTS = Path(os.environ["TOOLHOST_GUESTS"])
COMPONENTS = ["text", "sleep_forever", "write_bytes", "flood_log"]

#: Seconds for all that waits for the server. It may have to compile the components.
DEADLINE = 60.0

#: Arguments of `files__run` with which it writes to /f until it is stopped.
ENDLESS: Any = {"path": "/f", "bytes": 10**9, "chunk": 1, "mode": "append"}

#: A transport, and the revision of the protocol as the client names it: `legacy` begins with `initialize`.
CONNECTIONS = [
    ("stdio", "legacy"),
    ("stdio", "2026-07-28"),
    ("http", "legacy"),
    ("http", "2026-07-28"),
]

#: The revision that is negotiated for each.
REVISIONS = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28"}


class ConnectionsTest(unittest.IsolatedAsyncioTestCase):
    """Runs each test over every connection at the same time, each with a server of its own."""

    async def asyncSetUp(self) -> None:
        # unittest turns it on. It doubles the time.
        asyncio.get_running_loop().set_debug(False)

    async def over_each_connection(self, case: Callable[["Server"], Awaitable[None]]) -> None:
        async def run(transport: str, mode: str) -> None:
            with tempfile.TemporaryDirectory(prefix="toolhost-mcp-client-") as top:
                try:
                    await case(Server(transport, mode, Path(top)))
                except BaseException as error:
                    error.add_note(f"over {transport}, {mode}")
                    raise

        cases = (run(transport, mode) for transport, mode in CONNECTIONS)
        # The client logs what it does not expect of a server.
        with self.assertNoLogs("mcp", "WARNING"):
            outcomes = await asyncio.gather(*cases, return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if failures:
            raise BaseExceptionGroup("some connections failed", failures)


@dataclass
class Server:
    """A bundle of guests, a workdir, and how clients connect."""

    transport: str
    mode: str
    top: Path

    def __post_init__(self) -> None:
        self.bundle, self.workdir = self.top / "bundle", self.top / "workdir"
        for path in (self.bundle, self.workdir):
            path.mkdir()
        shutil.copy(FIXTURE / "goondan.yaml", self.bundle)
        for name in COMPONENTS:
            shutil.copy(GUESTS / f"{name}.wasm", self.bundle)

    def arguments(self, *options: str) -> list[str]:
        return ["serve", str(self.bundle), *options]

    @contextlib.asynccontextmanager
    async def connect(
        self, *options: str, read_timeout: float = DEADLINE, **more: Any
    ) -> AsyncIterator[Client]:
        """A client of a server of its own, which works in the workdir.

        `read_timeout`: seconds between two reads of a response over HTTP.
        """
        options = ("--workdir", str(self.workdir), *options)
        async with contextlib.AsyncExitStack() as stack:
            if self.transport == "stdio":
                server: Any = StdioServerParameters(
                    command=PROGRAM, args=self.arguments("--quiet", *options), env=dict(os.environ)
                )
            else:
                url = await stack.enter_async_context(self.serve_http(*options))
                timeout = httpx2.Timeout(DEADLINE, read=read_timeout)
                http = await stack.enter_async_context(httpx2.AsyncClient(timeout=timeout))
                server = streamable_http_client(url, http_client=http)
            more.setdefault("read_timeout_seconds", DEADLINE)
            client = await stack.enter_async_context(Client(server, mode=self.mode, **more))
            yield client

    @contextlib.asynccontextmanager
    async def serve_http(self, *options: str) -> AsyncIterator[str]:
        """The URL of a server. It ends with the block, and with this process."""
        process = await asyncio.create_subprocess_exec(
            *("sh", str(FIXTURE / "serve.sh"), PROGRAM),
            *self.arguments("--http", "127.0.0.1:0", *options),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdin and process.stderr
        drain: asyncio.Task[bytes] | None = None
        try:
            url = await asyncio.wait_for(_listening(process.stderr), DEADLINE)
            # A full pipe would block the server.
            drain = asyncio.create_task(process.stderr.read())
            yield url
        finally:
            process.stdin.close()
            await asyncio.wait_for(process.wait(), DEADLINE)
            if drain:
                await drain

    def written(self) -> int:
        file = self.workdir / "f"
        return file.stat().st_size if file.exists() else 0

    async def until_it_writes(self) -> None:
        """Waits until the endless call writes."""
        before = self.written()
        for _ in range(int(DEADLINE * 100)):
            if self.written() >= before + 100:
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the guest does not write")

    async def assert_stopped(self) -> None:
        """Fails if the endless call goes on for more than a moment."""
        for _ in range(50):
            before = self.written()
            await asyncio.sleep(0.1)
            if self.written() == before:
                return
        raise AssertionError("the guest runs on")


async def _listening(stderr: asyncio.StreamReader) -> str:
    printed = b""
    while line := await stderr.readline():
        printed += line
        if found := re.search(rb"listening on (http://\S+)", line):
            return found[1].decode()
    raise AssertionError(f"the server ended: {printed.decode()}")
