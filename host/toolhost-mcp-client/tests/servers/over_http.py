"""An MCP server over HTTP that behaves as its first argument says. It prints its port. Standard library only."""

import gzip
import json
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE = sys.argv[1]
RECORD = sys.argv[2]

sessions = set()
expired = False
lock = threading.Lock()


def record(text):
    with lock, open(RECORD, "a", encoding="utf-8") as file:
        file.write(text + "\n")


def text(value):
    return {"content": [{"type": "text", "text": value}]}


TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [
    {"name": "echo", "description": "Echoes", "inputSchema": TEXT},
    {"name": "headers", "description": "Headers", "inputSchema": {"type": "object"}},
    {"name": "slow", "description": "Never ends", "inputSchema": {"type": "object"}},
]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self, status, content_type, body, headers=()):
        self.send_response(status)
        if content_type:
            self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def empty(self, status, headers=()):
        self.body(status, "text/plain", b"", headers)

    def message(self, request, headers=(), **rest):
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], **rest}).encode()
        self.body(200, "application/json", body, headers)

    def do_GET(self):
        record("GET " + self.path)
        self.empty(405)

    def do_DELETE(self):
        record("DELETE " + self.path)
        sessions.discard(self.headers.get("Mcp-Session-Id"))
        self.empty(200)

    def do_POST(self):
        global expired
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = request.get("method")
        session = self.headers.get("Mcp-Session-Id")
        record(f"POST {self.path} {method}")
        if MODE == "redirect":
            self.empty(307, [("Location", f"http://127.0.0.1:{PORT}/elsewhere")])
            return
        if MODE == "unauthorized":
            self.empty(401, [("WWW-Authenticate", "Bearer")])
            return
        if method == "initialize":
            session = uuid.uuid4().hex
            sessions.add(session)
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "over_http", "version": "1"},
            }
            self.message(request, [("Mcp-Session-Id", session)], result=result)
            return
        if session is None:
            self.body(400, "text/plain", b"no session")
            return
        if method == "tools/call":
            if MODE == "expires" and not expired:
                expired = True
                sessions.clear()
            if MODE == "always-expired":
                sessions.clear()
        if session not in sessions:
            self.empty(404)
            return
        if "id" not in request:
            self.empty(202)
        elif method == "tools/list":
            self.message(request, result={"tools": TOOLS})
        elif method == "tools/call":
            self.call(request)
        else:
            self.message(request, error={"code": -32601, "message": "method not found"})

    def call(self, request):
        name = request["params"]["name"]
        arguments = request["params"].get("arguments", {})
        if MODE == "large-body":
            self.message(request, result=text("x" * (20 << 20)))
        elif MODE == "forbidden":
            self.body(403, "application/json", b'{"error": {"type": "plan", "message": "no seat left for you"}}')
        elif MODE == "overloaded":
            self.body(503, "text/html", b"<h1>Come back\x1b[2J later</h1>")
        elif MODE == "gzip":
            body = gzip.compress(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": text("x")}).encode())
            self.body(200, "application/json", body, [("Content-Encoding", "gzip")])
        elif MODE in ("mark", "half-emoji", "no-type", "nan", "other-id", "batch"):
            self.body(200, None if MODE == "no-type" else "application/json", self.odd(request))
        elif MODE.startswith("event-"):
            self.body(200, "text/event-stream", b"\xef\xbb\xbfdata: " + self.odd(request) + b"\n\n")
        elif MODE == "wrong-type":
            self.body(200, "text/html", b"<html></html>")
        elif MODE == "no-json":
            self.body(200, "application/json", b"{")
        elif MODE in ("events", "large-event", "endless-event"):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for number in range(3):
                params = {"level": "info", "data": f"message {number}"}
                self.event({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
            if MODE == "endless-event":
                self.wfile.write(b"data: ")
                while True:
                    self.wfile.write(b"x" * (1 << 20))
            value = "x" * (20 << 20) if MODE == "large-event" else arguments["text"]
            self.event({"jsonrpc": "2.0", "id": request["id"], "result": text(value)})
            self.close_connection = True
        elif name == "headers":
            self.message(request, result=text(str(self.headers.get("Authorization"))))
        elif name == "slow":
            # It ends when the client closes the connection.
            self.rfile.read(1)
            record("closed")
        else:
            self.message(request, result=text(arguments["text"]))

    def odd(self, request):
        id = request["id"] + (MODE == "other-id")
        result = '{"content": [{"type": "text", "text": "%s"}]}' % (
            "cut \\ud83d" if "half-emoji" in MODE else "hello")
        if "nan" in MODE:
            result = '{"content": [], "structuredContent": {"n": NaN}}'
        body = '{"jsonrpc": "2.0", "id": %d, "result": %s}' % (id, result)
        if "batch" in MODE:
            log = '{"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": 1}}'
            body = f"[{log}, {body}]"
        return ("\ufeff" if "mark" in MODE else "").encode() + body.encode()

    def event(self, message):
        self.wfile.write(b"event: message\r\ndata: " + json.dumps(message).encode() + b"\r\n\r\n")
        self.wfile.flush()


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
PORT = server.server_address[1]
print(PORT, flush=True)
server.serve_forever()
