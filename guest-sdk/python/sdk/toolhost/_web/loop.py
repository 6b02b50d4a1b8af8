"""An event loop whose connections speak HTTP. Several requests are on their way at once."""

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from .errors import refusal
from .sockets import HttpSocket, getaddrinfo
from .wire import HIGH_WATER, Wire

_READ_SIZE = 64 << 10


class Transport(asyncio.Transport):
    """A connection of an event loop."""

    def __init__(self, loop: Any, wire: Wire, protocol: asyncio.BaseProtocol, extra: dict[str, Any]) -> None:
        super().__init__(extra)
        self._loop = loop
        self._wire = wire
        self._protocol = protocol
        self._is_reading = True
        self._is_closing = False
        self._is_lost = False
        self._is_paused = False
        # Whether `_on_readable` is about to be called.
        self._is_scheduled = False
        loop.call_soon(self._begin)

    def _begin(self) -> None:
        self._protocol.connection_made(self)
        self._watch()

    def write(self, data: Any) -> None:
        if self._is_closing or not data:
            return
        try:
            self._wire.feed(bytes(data))
        except OSError as error:
            self._lose(error)
            return
        if self._wire.unsent > HIGH_WATER and not self._is_paused:
            self._is_paused = True
            self._protocol.pause_writing()
        self._watch()

    def _watch(self) -> None:
        """Waits for what comes next."""
        self._unwatch()
        selector = self._loop._selector
        has_input = self.is_reading() and self._wire.has_input()
        if has_input and not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._on_readable)
        elif self.is_reading() and not has_input and (pollable := self._wire.waits_for()):
            selector.add((self, "read"), pollable, partial(self._loop.call_soon, self._on_readable))
        if self._wire.unsent and (pollable := self._wire.waits_for(writes=True)):
            selector.add((self, "write"), pollable, partial(self._loop.call_soon, self._on_writable))

    def _unwatch(self) -> None:
        for what in ("read", "write"):
            self._loop._selector.remove((self, what))

    def _on_writable(self) -> None:
        if self._is_lost:
            return
        self._wire.flush()
        if self._is_paused and self._wire.unsent <= HIGH_WATER // 4:
            self._is_paused = False
            self._protocol.resume_writing()
        if self._is_closing and not self._wire.unsent:
            self._lose(None)
        else:
            self._watch()

    def _on_readable(self) -> None:
        self._is_scheduled = False
        if self._is_closing or not self._is_reading:
            return
        try:
            data = self._wire.read(_READ_SIZE)
        except OSError as error:
            self._lose(error)
            return
        if data:
            if isinstance(self._protocol, asyncio.BufferedProtocol):
                asyncio.protocols._feed_data_to_buffered_proto(self._protocol, data)
            else:
                self._protocol.data_received(data)
        elif data is not None:
            self._unwatch()
            if not self._protocol.eof_received():
                self._lose(None)
            return
        self._watch()

    def _lose(self, error: BaseException | None) -> None:
        if self._is_lost:
            return
        self._is_lost = self._is_closing = True
        self._unwatch()
        self._wire.close()
        self._loop.call_soon(self._protocol.connection_lost, error)

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            if self._wire.unsent:
                self._watch()
            else:
                self._lose(None)

    def abort(self) -> None:
        self._lose(None)

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        self._is_reading = False
        self._loop._selector.remove((self, "read"))

    def resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._watch()

    def is_reading(self) -> bool:
        return self._is_reading and not self._is_closing

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def get_write_buffer_size(self) -> int:
        return self._wire.unsent

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return (HIGH_WATER // 4, HIGH_WATER)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """The limits are fixed."""

    def can_write_eof(self) -> bool:
        return False


class Connections:
    """The methods of an event loop that make connections."""

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> list[Any]:
        return getaddrinfo(host, port, **options)

    async def getnameinfo(self, sockaddr: Any, flags: int = 0) -> tuple[str, str]:
        return (str(sockaddr[0]), str(sockaddr[1]))

    async def sock_connect(self, sock: HttpSocket, address: Any) -> None:
        sock.connect(address)

    async def create_connection(
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: Any = None,
        port: Any = None,
        *,
        ssl: Any = None,
        sock: HttpSocket | None = None,
        server_hostname: str | None = None,
        **_: Any,
    ) -> tuple[Transport, asyncio.BaseProtocol]:
        if sock is None:
            sock = socket.create_connection((host, port))
        wire, sock._wire = sock._wire, None
        if wire is None:
            raise refusal("the socket is not connected")
        if ssl:
            wire.secure(server_hostname or host)
        extra = {"peername": sock.getpeername(), "sockname": sock.getsockname(), "socket": sock}
        if ssl:
            extra |= {"sslcontext": None if ssl is True else ssl, "peercert": {}, "cipher": None, "compression": None}
        protocol = protocol_factory()
        transport = Transport(self, wire, protocol, extra)
        await asyncio.sleep(0)
        return transport, protocol

    async def start_tls(
        self, transport: Transport, protocol: asyncio.BaseProtocol, sslcontext: Any, *, server_hostname: Any = None, **_: Any
    ) -> Transport:
        transport._wire.secure(server_hostname)
        transport.set_protocol(protocol)
        return transport
