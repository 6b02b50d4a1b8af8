"""Reads requests from the bytes that a client library writes (RFC 9112)."""

import re
from dataclasses import dataclass

# A request line and its headers.
_HEAD_MAX = 256 << 10
# A line with the size of a chunk, and its extensions.
_LINE_MAX = 4 << 10

_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP/1\.[01]")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\0\r\n]*?)[ \t]*")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(;[^\r\n]*)?")
_LENGTH = re.compile(rb"[0-9]{1,18}")

# First byte of a TLS record of a handshake; no method of HTTP begins with it.
HANDSHAKE = b"\x16"


class NotHttp(ValueError):
    """The bytes are not a request of HTTP/1.1; the message says why."""


@dataclass(frozen=True)
class Head:
    """A request without its body."""

    method: str
    target: str
    """As the request line has it: a path with a query, or a URL."""
    headers: list[tuple[str, bytes]]
    length: int | None
    """Length of the body; None if it comes in chunks."""

    def header(self, name: str) -> bytes | None:
        """Returns the value of a header, whose name is in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), None)


class RequestReader:
    """Reads one request, given piece by piece. It keeps no more than a head or a line."""

    def __init__(self) -> None:
        self.is_complete = False
        self._pending = bytearray()
        # Up to where the end of a head or line was looked for.
        self._searched = 0
        self._head: Head | None = None
        # Bytes of the body, or of its chunk, that are to come.
        self._left = 0
        # The next line of a body in chunks.
        self._expected = "size"

    def feed(self, data: bytes) -> tuple[Head | None, list[bytes]]:
        """Takes bytes; returns the head if they complete it, and pieces of the body.

        Raises NotHttp for bytes that are no request, and for any after its end.
        """
        head = None
        if self._head is not None and self._head.length is not None and len(data) <= self._left:
            # Of a body that has a length, all is read: nothing is pending, and nothing need be copied.
            self._left -= len(data)
            self.is_complete = not self._left
            return None, [data]
        self._pending += data
        if self._head is None:
            if (block := self._take(b"\r\n\r\n", _HEAD_MAX, "the head of a request")) is None:
                first, end, _ = self._pending[:_LINE_MAX].partition(b"\r\n")
                if end and not _REQUEST_LINE.fullmatch(first):
                    raise NotHttp("the first line is no request line")
                return None, []
            head = self._head = _head(block)
            self._left = head.length or 0
            self.is_complete = head.length == 0
        pieces = self._body(self._head)
        if self.is_complete and self._pending:
            raise NotHttp("bytes follow the end of the request: one request at a time")
        return head, pieces

    def _body(self, head: Head) -> list[bytes]:
        pieces: list[bytes] = []
        while self._pending and not self.is_complete:
            if self._left:
                with memoryview(self._pending) as pending:
                    piece = bytes(pending[: self._left])
                del self._pending[: len(piece)]
                self._left -= len(piece)
                pieces.append(piece)
                self.is_complete = head.length is not None and not self._left
            elif (line := self._take(b"\r\n", _LINE_MAX, "a line between chunks")) is None:
                break
            else:
                self._next_line(line)
        return pieces

    def _next_line(self, line: bytes) -> None:
        """Takes a line of a body in chunks: a size, the end of a chunk, or a trailer, which is left out."""
        match self._expected:
            case "trailer":
                self.is_complete = not line
            case "end" if not line:
                self._expected = "size"
            case "size" if size := _CHUNK_SIZE.fullmatch(line):
                self._left = int(size[1], 16)
                self._expected = "end" if self._left else "trailer"
            case _:
                raise NotHttp("a chunk of the body is malformed")

    def _take(self, end: bytes, limit: int, what: str) -> bytes | None:
        """Removes the bytes before `end`, and `end`; returns None if it is not there yet."""
        at = self._pending.find(end, max(0, self._searched - len(end)))
        if (len(self._pending) if at < 0 else at) > limit:
            raise NotHttp(f"{what} has more than {limit} bytes")
        if at < 0:
            self._searched = len(self._pending)
            return None
        taken = bytes(self._pending[:at])
        del self._pending[: at + len(end)]
        self._searched = 0
        return taken


def _head(block: bytes) -> Head:
    first, *lines = block.split(b"\r\n")
    if not (request := _REQUEST_LINE.fullmatch(first)):
        raise NotHttp("the first line is no request line")
    headers = []
    for line in lines:
        if not (match := _HEADER.fullmatch(line)):
            raise NotHttp(f"a header is malformed: {line[:80]!r}")
        headers.append((match[1].decode(), match[2]))
    return Head(request[1].decode(), request[2].decode(), headers, _length(headers))


def _length(headers: list[tuple[str, bytes]]) -> int | None:
    """Returns how long the body is; None if it comes in chunks."""
    codings = {value.lower() for name, value in headers if name.lower() == "transfer-encoding"}
    lengths = {value for name, value in headers if name.lower() == "content-length"}
    if codings:
        if codings != {b"chunked"} or lengths:
            raise NotHttp("the body has a transfer coding other than `chunked`, or also a length")
        return None
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise NotHttp("the header Content-Length is malformed")
    return int(lengths.pop()) if lengths else 0


def handshake(name: str | None) -> bytes:
    """Writes a TLS record with no more than the name of the server: where the handshake of a client would be.

    A client that has TLS between itself and its connection, as in `ssl.MemoryBIO`, asks for it in this way.
    """
    data = (name or "").encode()
    return HANDSHAKE + b"\x03\x01" + len(data).to_bytes(2) + data


def read_handshake(data: bytes) -> tuple[str, bytes]:
    """Reads such a record; returns the name and the bytes that follow it."""
    end = 5 + int.from_bytes(data[3:5])
    if len(data) < end or data[1:3] != b"\x03\x01":
        raise NotHttp("a TLS handshake that the host does not make")
    return data[5:end].decode(errors="replace"), data[end:]
