"""The bytes of a connection: requests in, answers out."""

from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Protocol

from .errors import EndedEarly, refusal
from .request import HANDSHAKE, Head, NotHttp, RequestReader, read_handshake

_PORTS = {"http": 80, "https": 443}
_PHRASES = {status.value: status.phrase for status in HTTPStatus}

# Headers of the connection from the host to the server.
_OF_THE_CONNECTION = ("connection", "keep-alive", "transfer-encoding")

# Bytes of the body of a request that wait until the host takes them, above which a writer should wait.
HIGH_WATER = 64 << 10


class Exchange(Protocol):
    """What sends a request: see exchange.py."""

    def write(self, data: memoryview) -> int: ...
    def finish(self) -> None: ...
    def response(self) -> tuple[int, list[tuple[str, bytes]]] | None: ...
    def read(self, size: int) -> bytes | None: ...
    def waits_for(self, writes: bool) -> Any: ...
    def close(self) -> None: ...


class Wire:
    """A connection to a host and port. It carries one request: its answer says `Connection: close`."""

    def __init__(self, host: str, port: int, connect_timeout: float | None, start: Callable[..., Exchange]) -> None:
        self.is_secure = False
        """Whether the request goes over TLS, which is the host's."""
        self.is_asked = False
        """Whether the host has the whole request."""
        self.is_answered = False
        """Whether the answer has begun, or an error came instead."""
        self._target = (host, port)
        self._connect_timeout = connect_timeout
        self._start = start
        self._reader = RequestReader()
        self._exchange: Exchange | None = None
        self._method = ""
        self._to_send: deque[memoryview] = deque()
        self._inbox = bytearray()
        self._in_chunks = False
        self._is_ended = False
        self._failure: BaseException | None = None

    def feed(self, data: bytes) -> None:
        """Takes bytes that the client writes."""
        if self._failure is not None:
            raise self._failure
        try:
            if self._exchange is None and data[:1] == HANDSHAKE:
                name, data = read_handshake(data)
                self.secure(name)
            head, pieces = self._reader.feed(data)
            if head is not None:
                self._open(head)
        except NotHttp as error:
            self._failure = refusal(f"{error}")
            raise self._failure from None
        except OSError as error:
            self._failure = error
            raise
        self._to_send += map(memoryview, pieces)
        self.flush()

    def secure(self, name: str | None) -> None:
        """Lets the host use TLS for the request. `name` is that of the server which its certificate must have."""
        if name and name.lower() != self._target[0].lower():
            raise refusal(f"the certificate must name {self._target[0]}, and not {name}")
        self.is_secure = True

    def flush(self) -> bool:
        """Gives the host what it takes of the request's body; returns whether that was all."""
        exchange = self._exchange
        if exchange is None:
            return True
        while self._to_send:
            data = self._to_send[0]
            size = exchange.write(data)
            if size < len(data):
                self._to_send[0] = data[size:]
                return False
            self._to_send.popleft()
        if self._reader.is_complete and not self.is_asked:
            self.is_asked = True
            exchange.finish()
        return True

    @property
    def unsent(self) -> int:
        """How many bytes of the request's body the host has not taken yet."""
        return sum(map(len, self._to_send))

    def read(self, size: int) -> bytes | None:
        """Returns bytes of the answer, which are empty at its end; None if the next have not come yet.

        Raises the exception for what came instead of them, at each call.
        """
        if not self._inbox:
            self._fill(size)
        if not self._inbox:
            if self._failure is not None:
                raise self._failure
            return b"" if self._is_ended else None
        taken = bytes(self._inbox[:size])
        del self._inbox[:size]
        return taken

    def _fill(self, size: int) -> None:
        if self._is_ended or self._failure is not None or self._exchange is None:
            return
        try:
            if not self.is_answered:
                if (response := self._exchange.response()) is None:
                    return
                self.is_answered = True
                self._inbox += self._answer(*response)
                return
            data = self._exchange.read(size)
        except EndedEarly:
            self._end()
        except OSError as error:
            self._failure = error
            self._end()
        else:
            if data is None:
                self._inbox += b"0\r\n\r\n" if self._in_chunks else b""
                self._end()
            elif data:
                self._inbox += b"%x\r\n%b\r\n" % (len(data), data) if self._in_chunks else data

    def failure(self) -> BaseException | None:
        """Returns the exception that came instead of an answer, if one has come."""
        if not self.is_answered:
            self._fill(1)
        return self._failure

    def has_input(self) -> bool:
        """Whether `read` has something to return or to raise."""
        if not self._inbox:
            self._fill(HIGH_WATER)
        return bool(self._inbox) or self._is_ended or self._failure is not None

    def waits_for(self, writes: bool = False) -> Any:
        """Returns a pollable for the next bytes; None where none come."""
        if self._exchange is None or self._is_ended or self._failure is not None:
            return None
        return self._exchange.waits_for(writes)

    def __del__(self) -> None:
        self._end()

    def close(self) -> None:
        self._end()
        self._to_send.clear()
        if self._failure is None:
            self._failure = BrokenPipeError(32, "the connection is closed")

    def _end(self) -> None:
        self._is_ended = self.is_answered = True
        if self._exchange is not None:
            self._exchange.close()

    def _open(self, head: Head) -> None:
        if head.method == "CONNECT":
            # To a proxy. None is used: the host makes the connection.
            host, _, port = head.target.rpartition(":")
            self._target = (host.strip("[]"), int(port) if port.isascii() and port.isdigit() else 443)
            self._reader = RequestReader()
            self._inbox += b"HTTP/1.1 200 OK\r\n\r\n"
            return
        scheme = "https" if self.is_secure else "http"
        authority = _authority(*self._target, scheme)
        path = head.target
        if "://" in path and not path.startswith("/"):
            # A URL is what a proxy gets.
            scheme, _, rest = path.partition("://")
            authority, slash, path = rest.partition("/")
            path = slash + path or "/"
            if scheme not in _PORTS:
                raise refusal(f"{scheme} is another protocol")
        self._check_host(head, authority, scheme)
        self._method = head.method
        self._exchange = self._start(head, scheme, authority, path, self._connect_timeout)

    def _check_host(self, head: Head, authority: str, scheme: str) -> None:
        """Refuses another name in the header Host, which the host would not send."""
        named = (head.header("host") or b"").decode("latin-1").lower()
        if named.removesuffix(f":{_PORTS.get(scheme)}") not in ("", authority.lower()):
            raise refusal(f"the header Host names {named}, but the URL names {authority}")

    def _answer(self, status: int, headers: list[tuple[str, bytes]]) -> bytes:
        """Writes the head of the answer, and decides how its body ends."""
        lengths = {value for name, value in headers if name.lower() == "content-length"}
        has_body = self._method != "HEAD" and status not in (204, 304)
        if not has_body:
            self._end()
        self._in_chunks = has_body and not (len(lengths) == 1 and min(lengths).isdigit())
        lines = [b"HTTP/1.1 %d %b" % (status, _PHRASES.get(status, "").encode())]
        left_out = {*_OF_THE_CONNECTION, *(("content-length",) if self._in_chunks else ())}
        for name, value in headers:
            if name.lower() not in left_out:
                lines.append(b"%b: %b" % (name.encode(), value))
        if self._in_chunks:
            lines.append(b"Transfer-Encoding: chunked")
        lines.append(b"Connection: close\r\n\r\n")
        return b"\r\n".join(lines)


def _authority(host: str, port: int, scheme: str) -> str:
    host = f"[{host}]" if ":" in host else host
    return host if port == _PORTS[scheme] else f"{host}:{port}"
