"""Errors for what the sandbox does not have: processes, sockets, threads.

They are OSErrors, so that libraries can handle them.
"""

import _thread
import os
import socket
import subprocess
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from ._failure import ToolError


class SandboxError(ToolError, OSError):
    """The sandbox does not have this."""


def close() -> None:
    """Replaces the functions for processes, sockets and threads by ones that raise a clear error."""
    no_process = _refusal(
        "a tool runs in a sandbox where no process can be started",
        "NO_PROCESSES",
        "run shell commands with the tool `bash__exec`, where the agent has it",
    )
    no_socket = _refusal(
        "the network is closed to this tool: it cannot open sockets",
        "NO_NETWORK",
        "do not try again; say that this tool cannot reach the network",
    )
    no_thread = _refusal(
        "a tool cannot start threads: it runs in one thread",
        "NO_THREADS",
        "the author must correct the tool: do one thing after another, or use asyncio",
    )
    subprocess.Popen.__init__ = no_process
    # A process that never started cannot be waited for.
    del subprocess.Popen.__del__
    os.system = os.popen = no_process
    socket.socket.__init__ = no_socket
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "socketpair"):
        setattr(socket, name, no_socket)
    threading.Thread.start = _thread.start_new_thread = no_thread


def _refusal(message: str, code: str, suggestion: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise SandboxError(message, code=code, suggestion=suggestion)

    return refuse
