"""A server on loopback that answers as servers of the web do. It keeps what it was asked."""

import gzip
import json
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PIECE = b"0123456789abcdef" * 4096


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status: int = 200, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        body = self._body()
        self.server.asked.append((self.command, self.path))
        match self.path.partition("?")[0]:
            case "/gzip":
                text = gzip.compress("<p>größe</p>".encode())
                self.answer(200, text, Content_Type="text/html; charset=utf-8", Content_Encoding="gzip")
            case "/deflate":
                self.answer(200, zlib.compress("größe".encode()), Content_Encoding="deflate")
            case "/latin1":
                self.answer(200, "größe".encode("latin1"), Content_Type="text/html; charset=ISO-8859-1")
            case "/redirect":
                self.answer(302, Location="/plain")
            case "/elsewhere":
                self.answer(302, Location=self.server.other)
            case "/cookie":
                self.answer(302, Set_Cookie="a=b; Path=/", Location="/echo")
            case "/json":
                self.answer(200, b'{"a": [1, "\\u00e9"]}', Content_Type="application/json")
            case "/empty":
                self.answer(204)
            case "/gone":
                self.answer(410, b"gone")
            case "/chunks":
                self._chunks([b"one\n", b"two\n", b"three"])
            case "/large":
                self._chunks([PIECE] * 256)
            case "/short":
                self.send_response(200)
                self.send_header("Content-Length", "100")
                self.end_headers()
                self.wfile.write(b"only this")
                self.close_connection = True
            case "/slow":
                time.sleep(float(self.path.partition("?")[2]))
                self.answer(200, b"late")
            case "/size":
                self.answer(200, str(len(body)).encode())
            case "/echo":
                found = {"method": self.command, "body": body.decode("latin-1"), "headers": dict(self.headers)}
                self.answer(200, json.dumps(found).encode(), Content_Type="application/json")
            case "/close":
                self.close_connection = True
            case _:
                self.answer(200, b"plain", Content_Type="text/plain")

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET

    def _chunks(self, pieces: list[bytes]) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in [*pieces, b""]:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, *_: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Listens on a port of its own until the process ends."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str]] = []
        self.other = ""
        self.origin = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_: Any) -> None:
        """A client may go away."""
