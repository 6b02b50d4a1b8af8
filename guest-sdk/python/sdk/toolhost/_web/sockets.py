"""Sockets whose other end is the host's HTTP client; all replace those of `socket`."""

import errno
import ipaddress
import os
import socket
import time
from typing import Any, NoReturn

from .._pollables import wait_for
from .errors import refusal
from .exchange import Exchange
from .wire import Wire

_Socket = socket.socket


class HttpSocket(_Socket):
    """A stream socket of a client. A request is sent when its bytes are complete, and not when it connects."""

    # Of `_socket.socket`, whose file descriptor this has not.
    _closed = False
    _wire: Wire | None = None

    def __init__(self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> None:
        if fileno is not None or family not in (-1, socket.AF_INET, socket.AF_INET6):
            raise refusal("there are no other sockets")
        if type not in (-1, socket.SOCK_STREAM):
            raise refusal("there are no datagrams")
        self._io_refs = 0
        self._timeout = socket.getdefaulttimeout()
        self._peer: tuple[str, int] | None = None
        # When the request was complete: the time until the answer begins counts from there.
        self._asked_at: float | None = None

    family = socket.AF_INET
    type = socket.SOCK_STREAM
    proto = socket.IPPROTO_TCP

    @property
    def timeout(self) -> float | None:
        return self._timeout

    def gettimeout(self) -> float | None:
        return self._timeout

    def settimeout(self, value: float | None) -> None:
        if value is not None and value < 0:
            raise ValueError("Timeout value out of range")
        self._timeout = None if value is None else float(value)

    def setblocking(self, flag: bool) -> None:
        self._timeout = None if flag else 0.0

    def getblocking(self) -> bool:
        return self._timeout != 0

    def connect(self, address: Any) -> None:
        if self._closed:
            raise OSError(errno.EBADF, "Bad file descriptor")
        if not isinstance(address, tuple):
            raise refusal("there are no other sockets")
        self._peer = (str(address[0]), int(address[1]))
        self._wire = Wire(*self._peer, self._timeout or None, Exchange)

    def connect_ex(self, address: Any) -> int:
        self.connect(address)
        return 0

    def sendall(self, data: Any, flags: int = 0) -> None:
        wire = self._connected()
        wire.feed(bytes(data))
        while not wire.flush():
            self._wait(wire, self._timeout, writes=True)
        if wire.is_asked and self._asked_at is None:
            self._asked_at = time.monotonic()
            self._await_failure(wire)

    def send(self, data: Any, flags: int = 0) -> int:
        self.sendall(data)
        return len(data)

    def sendmsg(self, buffers: Any, *_: Any) -> int:
        return self.send(b"".join(buffers))

    def sendfile(self, file: Any, offset: int = 0, count: int | None = None) -> int:
        return self._sendfile_use_send(file, offset, count)

    def recv(self, size: int, flags: int = 0) -> bytes:
        wire = self._connected()
        while (data := wire.read(size)) is None:
            self._wait(wire, self._left(wire))
        return data

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        view = memoryview(buffer).cast("B")
        data = self.recv(nbytes or len(view))
        view[: len(data)] = data
        return len(data)

    def _await_failure(self, wire: Wire) -> None:
        """Raises the exception of a request that reached no server, as connecting would have.

        An answer that comes late is the reader's to report.
        """
        if self._timeout == 0:
            return
        while (failure := wire.failure()) is None and not wire.is_answered:
            try:
                self._wait(wire, self._left(wire))
            except TimeoutError:
                return
        if failure is not None and not isinstance(failure, TimeoutError):
            raise failure

    def _left(self, wire: Wire) -> float | None:
        """How long to wait for the next bytes of the answer."""
        if self._timeout is None or self._asked_at is None or wire.is_answered:
            return self._timeout
        return max(0.0, self._asked_at + self._timeout - time.monotonic())

    def _wait(self, wire: Wire, timeout: float | None, writes: bool = False) -> None:
        if self._timeout == 0:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        if (pollable := wire.waits_for(writes)) is None:
            raise refusal("no request was written, but an answer is read")
        if not wait_for([pollable], timeout):
            raise TimeoutError("timed out")

    def _connected(self) -> Wire:
        if self._wire is None:
            # A closed socket is read to its end by a file that `makefile` has made of it.
            code = errno.EBADF if self._closed else errno.ENOTCONN
            raise OSError(code, os.strerror(code))
        return self._wire

    def getpeername(self) -> tuple[str, int]:
        if self._peer is None:
            raise OSError(errno.ENOTCONN, "Socket is not connected")
        return self._peer

    def getsockname(self) -> tuple[str, int]:
        return ("0.0.0.0", 0)

    def setsockopt(self, *_: Any) -> None:
        """Options of TCP are the host's."""

    def getsockopt(self, *_: Any) -> int:
        return 0

    def shutdown(self, how: int) -> None:
        self._connected()

    def fileno(self) -> int:
        return -1

    def detach(self) -> int:
        self._wire, self._closed = None, True
        return -1

    def bind(self, *_: Any) -> NoReturn:
        raise refusal("a connection has no address of its own")

    listen = accept = sendto = recvfrom = recvmsg = bind

    def _real_close(self, *_: Any) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()

    def __del__(self) -> None:
        self._real_close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} peer={self._peer}{' [closed]' if self._closed else ''}>"


def getaddrinfo(host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> list[Any]:
    """Answers with the name itself as the address: the host looks it up when it sends a request."""
    name = host.decode() if isinstance(host, bytes) else "localhost" if host is None else str(host)
    number = _SERVICES.get(port, port) or 0
    try:
        is_v6 = ipaddress.ip_address(name).version == 6
    except ValueError:
        is_v6 = False
        name = name.encode("idna").decode() if not name.isascii() else name
    chosen = socket.AF_INET6 if is_v6 else socket.AF_INET
    return [(chosen, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (name, int(number)))]


_SERVICES = {"http": 80, "https": 443}


def install() -> None:
    """Gives `socket` these sockets."""
    socket.socket = socket.SocketType = HttpSocket
    socket.getaddrinfo = getaddrinfo
