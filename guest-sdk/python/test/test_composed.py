"""Components that call other tools, through the host."""

import time
import unittest
from typing import Any

from support import Bundle, component, example
from web_server import Server

ALL = {"tools": ["p__*"]}


class Composed(unittest.TestCase):
    """The component that sends requests calls one that does not."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.bundle = Bundle(component("web"), ["run"], {"p": component("probe")})

    def call(self, code: str, grants: dict[str, Any] = ALL, **names: Any) -> dict[str, Any]:
        return self.bundle.call_granted(grants, "run", code=code, names=names)

    def output(self, code: str, grants: dict[str, Any] = ALL, **names: Any) -> Any:
        result = self.call(code, grants, **names)
        self.assertEqual(result["status"], "ok", result)
        return result["output"]

    def test_calls_with_and_without_an_event_loop(self) -> None:
        code = """
one = tools["p__run"](code="result = 6 * 7")
async def main():
    return [one, *await asyncio.gather(*(tools.p.run(code=f"result = {n}") for n in range(40)))]"""
        self.assertEqual(self.output(code), [42, *range(40)])

    def test_waits_for_calls_requests_and_time_at_once(self) -> None:
        code = """
async def main():
    started = time.monotonic()
    async with httpx.AsyncClient() as client:
        await asyncio.gather(*(tools.p.wait(seconds=1) for _ in range(3)), client.get(url + "/slow?1"), asyncio.sleep(1))
    return time.monotonic() - started"""
        server = Server()
        self.assertLess(self.output(code, {**ALL, "http": {"allow": [server.origin]}}, url=server.origin), 4)

    def test_raises_what_the_tool_said(self) -> None:
        code = """
def failed(name, **arguments):
    try:
        tools[name](**arguments)
    except toolhost.ToolCallError as error:
        return [error.code, error.suggestion, error.tool, error.parameters and [*error.parameters["properties"]]]
result = [failed("p__fail"), failed("p__both"), failed("nope__x"), failed("__class__")]"""
        fail, both, *absent = self.output(code)
        self.assertEqual(fail, ["NO_SHEET", "use Sheet1", "p__fail", None])
        for error in absent:
            self.assertIn(error[0], ("E_TOOL_NOT_IN_CATALOG", "E_TOOL_DENIED"))

    def test_is_denied_what_the_policy_does_not_grant_and_nothing_is_done(self) -> None:
        code = "tools['p__run'](code=\"open('made', 'w')\")"
        for grants in ({}, {"tools": ["p__wait"]}):
            result = self.call(code, grants)
            self.assertEqual(result["error"]["code"], "E_TOOL_DENIED", result)
            self.assertFalse((self.bundle.workdir / "made").exists())
        self.call(code)
        self.assertTrue((self.bundle.workdir / "made").exists())

    def test_cancels_a_call_that_is_given_up(self) -> None:
        code = """
async def main():
    async with asyncio.timeout(0.3):
        await tools.p.wait(seconds=20)"""
        started = time.monotonic()
        self.assertEqual(self.call(code)["error"]["name"], "TimeoutError")
        self.assertLess(time.monotonic() - started, 10)

    def test_knows_what_it_may_call(self) -> None:
        code = "result = [tools.names(), tools.describe('p__wait')['description'], [it['name'] for it in tools.search('wait')]]"
        self.assertEqual(self.output(code, {"tools": ["p__wait"]}), [["p__wait"], "Waits, then answers", ["p__wait"]])


class Scripts(unittest.TestCase):
    """The base tool `python`."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.bundle = Bundle(example("python"), None, {"p": component("probe")})

    def run_script(self, code: str, **args: Any) -> dict[str, Any]:
        return self.bundle.call_granted(ALL, "script", code=code, args=args)

    def test_make_many_calls(self) -> None:
        code = "calls = [tools.p.run(code=f'result = {n}') for n in range(200)]\nprint('x')\nsum(await asyncio.gather(*calls))"
        result = self.run_script(code)
        self.assertEqual(result.get("output"), {"result": 19900, "log": "x\n"}, result)

    def test_that_leave_a_call_do_not_make_it(self) -> None:
        result = self.run_script("tools.p.run(code=\"open('made', 'w')\")\nawait asyncio.sleep(0)")
        self.assertEqual(result["error"]["code"], "E_SCRIPT", result)
        self.assertIn("line 1: tools.p.run", result["error"]["message"])
        self.assertFalse((self.bundle.workdir / "made").exists())

    def test_get_data_and_no_code(self) -> None:
        hostile = "__import__('os').mkdir('made')"
        result = self.run_script("return tools.p.run(code=f'result = {args!r}')", text=hostile)
        self.assertEqual(result["output"], {"result": {"text": hostile}})
        self.assertFalse((self.bundle.workdir / "made").exists())

    def test_end_where_they_recurse(self) -> None:
        for code in ("def f(): return f()\nf()", "async def f(): return await f()\nawait f()"):
            error = self.run_script(code)["error"]
            self.assertEqual((error["code"], error["name"]), ("E_SCRIPT", "RecursionError"))


if __name__ == "__main__":
    unittest.main()
