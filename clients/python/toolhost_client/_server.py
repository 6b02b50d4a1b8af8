"""A server that runs as a child process."""

import asyncio
import os
import sys

from ._connection import LINE_BYTES_MAX
from ._errors import ConnectionLost

#: How long the server has to end before it is killed, in seconds.
SHUTDOWN_SECONDS = 5.0

#: How long a server that has closed its output has to end, before the connection ends without its exit code.
EXIT_SECONDS = 2.0

#: Bytes of the server's log that are kept to say why it ended.
LOG_BYTES = 2000

StrPath = str | os.PathLike[str]


class Server:
    """A server that runs as a child process. Its log goes to stderr."""

    def __init__(self, program: StrPath, process: asyncio.subprocess.Process) -> None:
        assert process.stdin and process.stdout and process.stderr
        self.reader, self.writer = process.stdout, process.stdin
        self._program = os.fspath(program)
        self._process = process
        self._log = b""
        self._logging = asyncio.create_task(self._forward_log(process.stderr))

    @classmethod
    async def start(cls, program: StrPath, words: list[str], env: dict[str, str] | None) -> "Server":
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                program, "rpc", *words, stdin=pipe, stdout=pipe, stderr=pipe, env=env, limit=LINE_BYTES_MAX
            )
        except OSError as error:
            raise ConnectionLost(f"{program} could not be started: {error}") from error
        return cls(program, process)

    async def reason(self) -> str:
        """Says why the server ended: how, and its last words on stderr."""
        how = "has closed the connection"
        try:
            code = await asyncio.wait_for(self._process.wait(), EXIT_SECONDS)
            how = f"has ended with exit code {code}" if code >= 0 else f"has ended with signal {-code}"
            await asyncio.wait_for(asyncio.shield(self._logging), EXIT_SECONDS)
        except asyncio.TimeoutError:
            pass  # Another process has its stderr, or it goes on without a connection.
        log = self._log.decode(errors="replace").strip()
        return f"{self._program} {how}: {log}" if log else f"{self._program} {how}"

    async def end(self) -> None:
        """Ends the server, whose stdin is closed."""
        try:
            await asyncio.wait_for(self._process.wait(), SHUTDOWN_SECONDS)
        except asyncio.TimeoutError:
            self._process.kill()
            await self._process.wait()
        # Another process may have its stderr.
        await asyncio.wait([self._logging], timeout=EXIT_SECONDS)
        self._logging.cancel()

    async def _forward_log(self, stderr: asyncio.StreamReader) -> None:
        while chunk := await stderr.read(1 << 16):
            self._log = (self._log + chunk)[-LOG_BYTES:]
            sys.stderr.write(chunk.decode(errors="replace"))
            sys.stderr.flush()
