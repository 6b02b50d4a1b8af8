"""An MCP server, its authorization server, and a place that must receive nothing, each with a port of its own.

    oauth.py MODE RECORD [ELSEWHERE]

Prints the three ports. The first two listen on 127.0.0.1, the last on ELSEWHERE. Every request is a line of
JSON in RECORD: who received it, its method and path, the header Authorization, its body. MODE is a behaviour
below; `ok` is an honest server. Standard library only.
"""

import base64
import hashlib
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

MODE = sys.argv[1]
RECORD = sys.argv[2]
ELSEWHERE = sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1"

lock = threading.Lock()
# Token to scopes; code to (challenge, scopes); refresh token to scopes.
tokens, codes, refreshes = {}, {}, {}
# The refresh tokens that were used.
used = []
count = 0


def new(kind):
    global count
    with lock:
        count += 1
        return f"{kind}-secret-{count:04}"


def json_body(value):
    return json.dumps(value).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def received(self, who):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        line = [who, self.command, self.path, self.headers.get("Authorization"), body]
        with lock, open(RECORD, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return body

    def answer(self, status, value=b"", headers=()):
        body = value if isinstance(value, bytes) else json_body(value)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def redirect(self, url):
        self.answer(307, b"", [("Location", url)])


class Elsewhere(Handler):
    def do_GET(self):
        self.received("elsewhere")
        self.answer(404)

    do_POST = do_DELETE = do_GET


class Resource(Handler):
    def do_DELETE(self):
        self.received("server")
        self.answer(200)

    def do_GET(self):
        self.received("server")
        if "/.well-known/oauth-protected-resource" not in self.path:
            self.challenge()
        elif MODE == "redirected-metadata":
            self.redirect(f"{elsewhere}/metadata")
        else:
            metadata = {"resource": f"{server}/mcp", "authorization_servers": [authority]}
            if MODE == "other-resource":
                metadata["resource"] = "https://bank.example/mcp"
            if MODE == "many-authorities":
                metadata["authorization_servers"] = [f"{authority}/{n}" for n in range(1000)]
            self.answer(200, metadata)

    def challenge(self):
        metadata = f"{server}/.well-known/oauth-protected-resource/mcp"
        if MODE == "metadata-elsewhere":
            metadata = f"{elsewhere}/metadata"
        header = f'Bearer resource_metadata="{metadata}", scope="read"'
        self.answer(401, b"", [("WWW-Authenticate", header)])

    def do_POST(self):
        request = json.loads(self.received("server"))
        bearer = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        scopes = tokens.get(bearer)
        if scopes is None:
            self.challenge()
            return
        method = request.get("method")
        if "id" not in request:
            self.answer(202)
        elif method == "initialize":
            info = {"name": "oauth", "version": "1"}
            self.result(request, protocolVersion="2025-11-25", capabilities={"tools": {}}, serverInfo=info)
        elif method == "tools/list":
            names = ["echo", "headers", "write"]
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
            self.result(request, tools=tools)
        elif method == "tools/call":
            self.call(request, scopes)
        else:
            error = {"code": -32601, "message": "method not found"}
            self.answer(200, {"jsonrpc": "2.0", "id": request["id"], "error": error})

    def call(self, request, scopes):
        name = request["params"]["name"]
        wanted = None
        if name == "write" and "write" not in scopes:
            wanted = "write"
        if name == "write" and MODE == "endless-step-up":
            wanted = new("scope")
        if name == "write" and MODE == "same-step-up":
            wanted = "read"
        if wanted:
            header = f'Bearer error="insufficient_scope", scope="{wanted}"'
            self.answer(403, b"", [("WWW-Authenticate", header)])
        elif name == "write" and MODE == "redirected-call":
            self.redirect(f"{elsewhere}/mcp")
        elif name == "headers":
            self.text(request, str(self.headers.get("Authorization")))
        else:
            self.text(request, "hello")

    def text(self, request, text):
        self.result(request, content=[{"type": "text", "text": text}])

    def result(self, request, **result):
        self.answer(200, {"jsonrpc": "2.0", "id": request["id"], "result": result})


class Authority(Handler):
    def do_GET(self):
        self.received("authority")
        parts = urlsplit(self.path)
        if MODE == "many-authorities":
            self.answer(404)
        elif parts.path == "/.well-known/oauth-authorization-server":
            metadata = {
                "issuer": authority,
                "authorization_endpoint": f"{authority}/authorize",
                "token_endpoint": f"{authority}/token",
                "registration_endpoint": f"{authority}/register",
                "code_challenge_methods_supported": ["S256"],
                "scopes_supported": ["read", "write"],
            }
            if MODE == "other-issuer":
                metadata["issuer"] = "https://bank.example"
            if MODE == "token-elsewhere":
                metadata["token_endpoint"] = f"{elsewhere}/token"
            if MODE == "no-pkce":
                metadata["code_challenge_methods_supported"] = ["plain"]
            if MODE == "no-registration":
                del metadata["registration_endpoint"]
            if MODE == "script":
                metadata["authorization_endpoint"] = "javascript:alert(1)"
            self.answer(200, metadata)
        elif parts.path == "/authorize":
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            code = new("code")
            codes[code] = (query["code_challenge"], query.get("scope", "").split())
            answer = {"code": code, "state": query["state"], "iss": authority}
            if MODE == "other-state":
                answer["state"] = "forged"
            if MODE == "refused":
                answer = {"error": "access_denied", "state": query["state"]}
            self.answer(302, b"", [("Location", query["redirect_uri"] + "?" + urlencode(answer))])
        else:
            self.answer(404)

    def do_POST(self):
        body = self.received("authority")
        if self.path == "/register":
            if MODE == "redirected-registration":
                self.redirect(f"{elsewhere}/register")
                return
            client = {"client_id": new("client"), "client_secret": new("client-secret")}
            self.answer(201, {**json.loads(body), **client})
        elif self.path == "/token":
            self.token({key: values[0] for key, values in parse_qs(body).items()}, body)
        else:
            self.answer(404)

    def token(self, form, body):
        if MODE == "large-token":
            self.answer(200, b" " * (10 << 20))
            return
        if MODE == "silent-token":
            time.sleep(60)
            return
        if MODE == "redirected-token":
            self.redirect(f"{elsewhere}/token")
            return
        if MODE == "repeats-secrets":
            said = f"{self.headers.get('Authorization')} {body}"
            self.answer(400, {"error": "invalid_request", "error_description": said})
            return
        if form["grant_type"] == "client_credentials":
            if form.get("client_secret") != "own-client-secret" or form["resource"] != f"{server}/mcp":
                self.answer(401, {"error": "invalid_client", "error_description": body})
                return
            scopes = form.get("scope", "").split()
        elif form["grant_type"] == "authorization_code":
            challenge, scopes = codes.pop(form["code"])
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != challenge:
                self.answer(400, {"error": "invalid_grant"})
                return
        else:
            # Each refresh token is valid once.
            with lock:
                scopes = refreshes.pop(form["refresh_token"], None)
            if scopes is None or MODE == "no-refresh":
                self.answer(400, {"error": "invalid_grant"})
                return
            used.append(form["refresh_token"])
            if MODE == "slow-renewal":
                time.sleep(0.5)
        token, refresh = new("access"), new("refresh")
        if MODE == "odd-token":
            token = "a\u00e4b"
        tokens[token] = scopes
        refreshes[refresh] = scopes
        is_first = form["grant_type"] == "authorization_code"
        is_short = is_first and MODE in ("expires", "no-refresh") or MODE == "fades" and len(used) == 1
        seconds = 1 if is_short else 3600
        if is_first and MODE in ("revoked", "slow-renewal", "fades"):
            # Listed once, and refused from then on.
            threading.Timer(1.0, lambda: tokens.pop(token, None)).start()
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": seconds, "refresh_token": refresh}
        self.answer(200, answer)


def start(handler, address="127.0.0.1"):
    listening = ThreadingHTTPServer((address, 0), handler)
    listening.daemon_threads = True
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    return f"http://{address}:{listening.server_address[1]}"


server, authority, elsewhere = start(Resource), start(Authority), start(Elsewhere, ELSEWHERE)
print(server.rsplit(":", 1)[1], authority.rsplit(":", 1)[1], elsewhere.rsplit(":", 1)[1], flush=True)
threading.Event().wait()
