"""Requests of a component, by the libraries that tools use, to a server on loopback."""

import json
import unittest
from typing import Any

from support import Bundle, component
from web_server import PIECE, Server

LARGE = len(PIECE) * 256

# Sends a request with each library; `ask(url)` returns the status and the text.
ASK = """
def with_urllib(url):
    with urllib.request.urlopen(url) as response:
        return [response.status, response.read().decode()]

def with_requests(url):
    response = requests.get(url)
    return [response.status_code, response.text]

def with_httpx(url):
    response = httpx.get(url, follow_redirects=True)
    return [response.status_code, response.text]

async def async_httpx(url):
    async with httpx.AsyncClient(follow_redirects=True) as client:
        response = await client.get(url)
        return [response.status_code, response.text]

async def async_aiohttp(url):
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return [response.status, await response.text()]

def with_async(ask):
    return lambda url: asyncio.run(ask(url))

LIBRARIES = [with_urllib, with_requests, with_httpx, with_async(async_httpx), with_async(async_aiohttp)]
"""


class Web(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.bundle = Bundle(component("web"), ["run", "get"])
        cls.server, cls.other = Server(), Server()
        cls.server.other = f"{cls.other.origin}/echo"

    def call(self, code: str, allow: list[str] | None = None) -> dict[str, Any]:
        rules = [self.server.origin, self.other.origin] if allow is None else allow
        names = {"url": self.server.origin, "host": self.server.origin.removeprefix("http://")}
        return self.bundle.call_granted({"http": {"allow": rules}}, "run", code=code, names=names)

    def output(self, code: str) -> Any:
        result = self.call(code)
        self.assertEqual(result["status"], "ok", result)
        return result["output"]

    def test_gets_with_every_library(self) -> None:
        code = f"{ASK}\nresult = [ask(url + path) for path in ('/plain', '/redirect', '/chunks') for ask in LIBRARIES]"
        expected = [[200, "plain"]] * 10 + [[200, "one\ntwo\nthree"]] * 5
        self.assertEqual(self.output(code), expected)

    def test_decodes_as_the_libraries_do(self) -> None:
        code = f"""{ASK}
result = [ask(url + path)[1] for path in ("/gzip", "/latin1") for ask in LIBRARIES[1:]]
result += [requests.get(url + "/deflate").content.decode(), requests.get(url + "/json").json()]"""
        expected = ["<p>größe</p>"] * 4 + ["größe"] * 5 + [{"a": [1, "é"]}]
        self.assertEqual(self.output(code), expected)

    def test_sends_forms_files_json_and_logins(self) -> None:
        code = """
def sent(response):
    found = response.json()
    return [found["method"], found["headers"].get("content-type", "").split(";")[0], found["body"]]
result = {
    "form": sent(requests.post(url + "/echo", data={"a": "b c"})),
    "json": sent(httpx.put(url + "/echo", json={"a": 1})),
    "none": sent(requests.delete(url + "/echo")),
    "file": sent(requests.post(url + "/echo", files={"f": ("a.txt", b"data")})),
    "urllib": json.load(urllib.request.urlopen(urllib.request.Request(url + "/echo", b"x", {"A-B": "c"})))["headers"],
    "login": requests.get(url + "/echo", auth=("u", "p")).json()["headers"]["authorization"],
    "empty": requests.post(url + "/echo").json()["headers"]["content-length"],
}"""
        found = self.output(code)
        self.assertEqual(found["form"], ["POST", "application/x-www-form-urlencoded", "a=b+c"])
        self.assertEqual(found["json"], ["PUT", "application/json", '{"a":1}'])
        self.assertEqual(found["none"], ["DELETE", "", ""])
        self.assertEqual(found["file"][1], "multipart/form-data")
        self.assertIn('filename="a.txt"\r\n\r\ndata\r\n', found["file"][2])
        self.assertEqual((found["urllib"]["a-b"], found["urllib"]["content-length"]), ("c", "1"))
        self.assertEqual((found["login"], found["empty"]), ("Basic dTpw", "0"))

    def test_has_answers_without_a_body(self) -> None:
        code = """
head = requests.head(url + "/plain")
result = [head.headers["content-length"], head.text, requests.get(url + "/empty").status_code]
result += [httpx.head(url + "/plain").text, httpx.get(url + "/empty").status_code, httpx.get(url + "/gone").status_code]"""
        self.assertEqual(self.output(code), ["5", "", 204, "", 204, 410])

    def test_keeps_cookies_and_drops_logins_for_another_origin(self) -> None:
        code = """
session = requests.Session()
result = [session.get(url + "/cookie").json()["headers"]["cookie"]]
login = {"Authorization": "Bearer x"}
for response in (requests.get(url + "/elsewhere", headers=login), httpx.get(url + "/elsewhere", headers=login, follow_redirects=True)):
    result.append([response.json()["headers"]["host"], "authorization" in response.json()["headers"]])"""
        other = self.other.origin.removeprefix("http://")
        self.assertEqual(self.output(code), ["a=b", [other, False], [other, False]])

    def test_streams_both_ways_in_little_memory(self) -> None:
        code = """
def pieces():
    for _ in range(16):
        yield b"x" * 65536
async def async_pieces():
    for piece in pieces():
        yield piece
async def main():
    sizes = [sum(map(len, requests.get(url + "/large", stream=True).iter_content(8192)))]
    with httpx.stream("GET", url + "/large") as response:
        sizes.append(sum(map(len, response.iter_bytes())))
    async with httpx.AsyncClient() as client, client.stream("GET", url + "/large") as response:
        sizes.append(sum([len(piece) async for piece in response.aiter_bytes()]))
    sent = [requests.post(url + "/size", data=pieces()).text, httpx.post(url + "/size", content=pieces()).text]
    async with httpx.AsyncClient() as client:
        sent.append((await client.post(url + "/size", content=async_pieces())).text)
        sent.append((await client.post(url + "/size", content=b"x" * 1048576)).text)
    return [sizes, sent]"""
        limits = {"http": {"allow": [self.server.origin]}, "limits": {"memoryBytes": 64 << 20}}
        result = self.bundle.call_granted(limits, "run", code=code, names={"url": self.server.origin})
        self.assertEqual(result.get("output"), [[LARGE] * 3, ["1048576"] * 4], result)

    def test_has_several_requests_on_their_way_at_once(self) -> None:
        code = """
async def main():
    started = time.monotonic()
    async with httpx.AsyncClient() as client, aiohttp.ClientSession() as session:
        answers = [client.get(url + "/slow?1") for _ in range(4)]
        await asyncio.gather(*answers, session.get(url + "/slow?1"))
    return time.monotonic() - started"""
        self.assertLess(self.output(code), 4)

    def test_raises_timeouts(self) -> None:
        code = """
async def wait():
    async with httpx.AsyncClient(timeout=0.2) as client:
        await client.get(url + "/slow?5")
async def cancel():
    async with asyncio.timeout(0.2), aiohttp.ClientSession() as session:
        await session.get(url + "/slow?5")
result = [raised(each)[0] for each in (
    lambda: urllib.request.urlopen(url + "/slow?5", timeout=0.2),
    lambda: requests.get(url + "/slow?5", timeout=0.2),
    lambda: httpx.get(url + "/slow?5", timeout=0.2),
    lambda: asyncio.run(wait()),
    lambda: asyncio.run(cancel()),
)]"""
        self.assertEqual(self.output(code), ["TimeoutError", "ReadTimeout", "ReadTimeout", "ReadTimeout", "TimeoutError"])

    def test_raises_what_libraries_raise_where_there_is_no_answer(self) -> None:
        refused = Server()
        refused.shutdown()
        refused.server_close()
        code = f"""{ASK}
result = {{}}
for path in ({refused.origin!r}, url + "/short", url + "/close"):
    result[path.rpartition("/")[2]] = [raised(lambda: ask(path)) for ask in LIBRARIES]"""
        names = {"url": self.server.origin}
        rules = [self.server.origin, refused.origin]
        found = self.bundle.call_granted({"http": {"allow": rules}}, "run", code=code, names=names)["output"]
        refusals = found.pop(refused.origin.rpartition("/")[2])
        classes = ["URLError", "ConnectionError", "ConnectError", "ConnectError", "ClientOSError"]
        self.assertEqual([each[0] for each in refusals], classes)
        for each in refusals[:3]:
            self.assertIn("Connection refused", each[-1])
        short = ["IncompleteRead", "ChunkedEncodingError", "RemoteProtocolError", "RemoteProtocolError", "ClientPayloadError"]
        self.assertEqual([each[0] for each in found["short"]], short)
        closed = ["RemoteDisconnected", "ConnectionError", "RemoteProtocolError", "RemoteProtocolError"]
        self.assertEqual([each[0] for each in found["close"]], [*closed, "ServerDisconnectedError"])

    def test_is_denied_what_the_policy_does_not_allow_and_nothing_is_asked(self) -> None:
        for number in range(5):
            for path in ("/secret", "/elsewhere"):
                self.server.asked.clear()
                self.other.asked.clear()
                allow = [] if path == "/secret" else [f"{self.server.origin}/elsewhere"]
                result = self.call(f"{ASK}\nresult = LIBRARIES[{number}](url + {path!r})", allow)
                error = result["error"]
                self.assertEqual(error["code"], "E_TOOL_DENIED", result)
                self.assertIn("http: GET http://127.0.0.1:", error["suggestion"])
                self.assertIn("does not allow this request", error["message"])
                self.assertEqual(self.other.asked, [])
                self.assertEqual(len(self.server.asked), len(allow))

    def test_says_which_rule_would_allow_it(self) -> None:
        error = self.call("requests.get('https://example.com/a?b')")["error"]
        self.assertIn('http: {allow: ["GET https://example.com/a"]}', error["suggestion"])

    def test_is_denied_though_the_traceback_shows_lines_that_are_no_statements(self) -> None:
        self.assertEqual(self.bundle.call("get", url="http://example.com")["error"]["code"], "E_TOOL_DENIED")

    def test_has_the_host_verify_certificates(self) -> None:
        code = """
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
result = [raised(each) for each in (
    lambda: context.load_verify_locations("own.pem"),
    lambda: context.load_cert_chain("own.pem"),
    lambda: httpx.get(f"https://{host}/", verify=context),
    lambda: requests.get(f"https://{host}/", verify=False),
)]"""
        names = {"host": self.server.origin.removeprefix("http://")}
        rules = [self.server.origin.replace("http:", "https:")]
        result = self.bundle.call_granted({"http": {"allow": rules}}, "run", code=code, names=names)
        roots, chain, by_httpx, by_requests = result["output"]
        self.assertEqual((roots[0], chain[0]), ("SSLError", "SSLError"))
        self.assertEqual((by_httpx[0], by_requests[0]), ("ConnectError", "SSLError"))

    def test_refuses_what_is_not_http(self) -> None:
        code = """
def send(data):
    with socket.create_connection(host.split(":")) as connection:
        connection.sendall(data)
        connection.recv(1)
result = [raised(each)[-1] for each in (
    lambda: send(b"PING\\r\\n"),
    lambda: send(b"GET / HTTP/1.1\\r\\nUpgrade: websocket\\r\\n\\r\\n"),
    lambda: requests.get(url, headers={"Host": "other.example"}),
    lambda: requests.get(url, headers={"X-HTTP-Method-Override": "DELETE"}),
    lambda: socket.socket(type=socket.SOCK_DGRAM),
    lambda: socket.socket().listen(),
)]"""
        found = self.output(code)
        for text, part in zip(found, ["request line", "upgraded", "Host", "X-HTTP-Method-Override", "datagrams", "address"]):
            self.assertIn("by HTTP requests only", text)
            self.assertIn(part, text)

    def test_reaches_the_server_itself_where_a_proxy_is_named(self) -> None:
        code = """
result = [requests.get(url + "/plain", proxies={"http": "http://127.0.0.1:1"}).text]
result.append(httpx.get(url + "/plain", proxy="http://127.0.0.1:1").text)"""
        self.assertEqual(self.output(code), ["plain", "plain"])

    def test_makes_a_connection_by_hand(self) -> None:
        code = """
async def main():
    connection = http.client.HTTPConnection(host)
    answers = []
    for path in ("/plain", "/json"):
        connection.request("GET", path)
        answers.append(connection.getresponse().read().decode())
    reader, writer = await asyncio.open_connection(*host.split(":"))
    writer.write(f"GET /plain HTTP/1.0\\r\\nHost: {host}\\r\\n\\r\\n".encode())
    await writer.drain()
    answers.append((await reader.read()).rpartition(b"\\n")[2].decode())
    writer.close()
    await writer.wait_closed()
    return answers"""
        self.assertEqual(self.output(code), ["plain", '{"a": [1, "\\u00e9"]}', "plain"])


class Wasm(unittest.TestCase):
    def test_only_a_tool_with_requests_imports_http(self) -> None:
        for name, expected in [("web", True), ("probe", False)]:
            self.assertEqual(b"wasi:http" in component(name).read_bytes(), expected, name)


if __name__ == "__main__":
    unittest.main()
