"""Reading requests from bytes, whoever writes them."""

import random
import sys
import unittest
from pathlib import Path

SDK = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SDK / "sdk"))
from toolhost._closed import SandboxError  # noqa: E402
from toolhost._web.request import NotHttp, RequestReader, handshake, read_handshake  # noqa: E402
from toolhost._web.wire import Wire  # noqa: E402

CHUNKED = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


def read(data: bytes, size: int) -> tuple[object, bytes, bool]:
    """Reads a request that comes in pieces; returns its head, its body and whether it is complete."""
    reader, head, body = RequestReader(), None, b""
    for at in range(0, len(data), size):
        found, pieces = reader.feed(data[at : at + size])
        head = found or head
        body += b"".join(pieces)
    return head, body, reader.is_complete


class Requests(unittest.TestCase):
    def test_reads_a_request_in_pieces_of_any_size(self) -> None:
        for data, body in [
            (b"GET /a?b=c HTTP/1.1\r\nHost: x\r\nA:  b c \r\n\r\n", b""),
            (b"PUT / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
            (CHUNKED + b"3\r\nabc\r\n00a;x=y\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n", b"abc0123456789"),
            (CHUNKED + b"0\r\n\r\n", b""),
        ]:
            for size in (1, 2, 3, 7, len(data)):
                with self.subTest(data=data, size=size):
                    head, found, is_complete = read(data, size)
                    self.assertIsNotNone(head)
                    self.assertEqual((found, is_complete), (body, True))

    def test_tells_what_was_asked(self) -> None:
        head, _, _ = read(b"GET /a?b=c HTTP/1.1\r\nHost: x:1\r\nA:  b c \r\nA: \xe4\r\n\r\n", 100)
        self.assertEqual((head.method, head.target, head.length), ("GET", "/a?b=c", 0))
        self.assertEqual(head.headers, [("Host", b"x:1"), ("A", b"b c"), ("A", b"\xe4")])
        self.assertEqual(head.header("host"), b"x:1")

    def test_refuses_what_is_no_request(self) -> None:
        for data in (
            b"*1\r\nPING\r\n",
            b"EHLO x\r\n",
            b"GET  / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/2.0\r\n\r\n",
            b"GET /\x00 HTTP/1.1\r\n\r\n",
            b"GET /a\nb HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nA : b\r\n\r\n",
            b"GET / HTTP/1.1\r\nA: b\nB: c\r\n\r\n",
            b"GET / HTTP/1.1\r\nA: b\rB: c\r\n\r\n",
            b"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
            b"GET / HTTP/1.1\r\nA: b\x00\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: 1_0\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            CHUNKED + b"x\r\n",
            CHUNKED + b"\r\n",
            CHUNKED + b"-1\r\n",
            CHUNKED + b"f" * 16 + b"\r\n",
            CHUNKED + b"1\r\nab\r\n",
            CHUNKED + b"1\r\na\r\n1\r\nb1\r\n",
            CHUNKED + b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        ):
            for size in (1, len(data)):
                with self.subTest(data[:100], size=size), self.assertRaises(NotHttp):
                    read(data, size)

    def test_keeps_no_more_than_a_head_or_a_line(self) -> None:
        for start, piece in [(b"", b"A"), (b"GET / HTTP/1.1\r\nA: ", b"b" * 1000), (CHUNKED, b"1" * 1000)]:
            reader, fed = RequestReader(), 0
            with self.assertRaises(NotHttp):
                reader.feed(start)
                while fed < 1 << 20:
                    fed += len(piece)
                    reader.feed(piece)
            self.assertLess(len(reader._pending), 300_000)

    def test_ends_with_any_bytes(self) -> None:
        chance = random.Random(1)
        words = [b"GET", b" ", b"/", b"HTTP/1.1", b"\r\n", b"\r\n\r\n", b":", b"a", b"0", b"5", b"\n", b"\x16\x03\x01", b"\xff"]
        words += [b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"GET / HTTP/1.1\r\n", CHUNKED]
        for _ in range(3000):
            data = b"".join(chance.choices(words, k=chance.randrange(1, 12)))
            try:
                _, body, _ = read(data, chance.randrange(1, 9))
                self.assertLessEqual(len(body), len(data))
            except NotHttp:
                pass

    def test_reads_the_request_for_tls(self) -> None:
        for name in ("", "example.com"):
            self.assertEqual(read_handshake(handshake(name) + b"GET"), (name, b"GET"))
        for data in (b"\x16", b"\x16\x03\x01", b"\x16\x03\x01\x00\x05abc", b"\x16\x03\x03\x00\x00"):
            with self.assertRaises(NotHttp):
                read_handshake(data)


class Exchange:
    """Answers with a response that a test gives."""

    def __init__(self, status: int, headers: list[tuple[str, bytes]], body: list[bytes]) -> None:
        self.asked: tuple[object, ...] = ()
        self.sent = b""
        self._response = (status, headers)
        self._body = body

    def start(self, head: object, scheme: str, authority: str, path: str, timeout: float | None) -> "Exchange":
        self.asked = (scheme, authority, path)
        return self

    def write(self, data: memoryview) -> int:
        self.sent += data
        return len(data)

    def finish(self) -> None:
        pass

    def response(self) -> tuple[int, list[tuple[str, bytes]]]:
        return self._response

    def read(self, size: int) -> bytes | None:
        return self._body.pop(0) if self._body else None

    def waits_for(self, writes: bool) -> None:
        pass

    def close(self) -> None:
        pass


def answer(request: bytes, status: int, headers: list[tuple[str, bytes]], body: list[bytes]) -> bytes:
    wire = Wire("x", 80, None, Exchange(status, headers, body).start)
    wire.feed(request)
    found = b""
    while data := wire.read(5):
        found += data
    return found


class Answers(unittest.TestCase):
    GET = b"GET / HTTP/1.1\r\n\r\n"

    def test_has_the_length_that_the_server_gave(self) -> None:
        found = answer(self.GET, 200, [("content-length", b"3"), ("a", b"b"), ("Keep-Alive", b"1")], [b"a", b"bc"])
        self.assertEqual(found, b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\na: b\r\nConnection: close\r\n\r\nabc")

    def test_comes_in_chunks_where_the_server_gave_no_length(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        for headers in ([], [("content-length", b"x")], [("content-length", b"1"), ("content-length", b"2")]):
            found = answer(self.GET, 200, headers, [b"a" * 16, b"b"])
            self.assertEqual(found, head + b"10\r\n" + b"a" * 16 + b"\r\n1\r\nb\r\n0\r\n\r\n")

    def test_has_no_body_after_head_and_for_some_codes(self) -> None:
        for request, status in [(b"HEAD / HTTP/1.1\r\n\r\n", 200), (self.GET, 204), (self.GET, 304)]:
            found = answer(request, status, [("content-length", b"3")], [b"abc"])
            self.assertTrue(found.endswith(b"content-length: 3\r\nConnection: close\r\n\r\n"), found)


class Places(unittest.TestCase):
    def asked(self, *written: bytes, host: str = "x", port: int = 80, is_secure: bool = False) -> tuple[object, ...]:
        exchange = Exchange(200, [], [])
        wire = Wire(host, port, None, exchange.start)
        wire.is_secure = is_secure
        for data in written:
            wire.feed(data)
        return exchange.asked

    def test_is_the_host_of_the_connection(self) -> None:
        get = b"GET /a HTTP/1.1\r\nHost: %b\r\n\r\n"
        self.assertEqual(self.asked(get % b"x"), ("http", "x", "/a"))
        self.assertEqual(self.asked(get % b"X:443", port=443, is_secure=True), ("https", "x", "/a"))
        self.assertEqual(self.asked(get % b"[::1]:8080", host="::1", port=8080), ("http", "[::1]:8080", "/a"))
        self.assertEqual(self.asked(handshake("x"), get % b"x", port=443), ("https", "x", "/a"))
        for written in ([get % b"y"], [get % b"x:8080"], [get % b"x@y"], [handshake("y"), get % b"x"]):
            with self.subTest(written), self.assertRaises(SandboxError):
                self.asked(*written)

    def test_is_the_one_that_a_proxy_is_asked_for(self) -> None:
        get = b"GET http://y:8080/a HTTP/1.1\r\nHost: y:8080\r\n\r\n"
        self.assertEqual(self.asked(get, host="proxy"), ("http", "y:8080", "/a"))
        connect, get = b"CONNECT y:443 HTTP/1.1\r\n\r\n", b"GET /a HTTP/1.1\r\nHost: y\r\n\r\n"
        self.assertEqual(self.asked(connect, handshake("y"), get, host="proxy"), ("https", "y", "/a"))
        with self.assertRaises(SandboxError):
            self.asked(b"GET ftp://y/a HTTP/1.1\r\n\r\n")


if __name__ == "__main__":
    unittest.main()
