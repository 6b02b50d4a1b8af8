"""The handler `script` of the base tool `python`, through a host that is faked."""

import gc
import sys
import unittest
from typing import Any
from unittest import mock

from fake_tools import KIT, Handle, Host
from test_tools import WithLoop, echo, fail, strict

sys.path.insert(0, str(KIT.parent.parent / "guest-examples" / "python" / "python"))
import warnings  # noqa: E402

import script as module  # noqa: E402
from program import without_fence  # noqa: E402
from script import LOG, script  # noqa: E402
from toolhost import Context, ToolError  # noqa: E402
from toolhost._tools import Tools  # noqa: E402

READ = 'tools["f__read"]'


class Script(WithLoop):
    def setUp(self) -> None:
        super().setUp()
        for target, name in [
            (sys, "stdout"),
            (sys, "stderr"),
            (warnings, "_warn_unawaited_coroutine"),
            (module.asyncio.runners, "_cancel_all_tasks"),
        ]:
            patch = mock.patch.object(target, name, getattr(target, name))
            patch.start()
            self.addCleanup(patch.stop)
        modules = mock.patch.dict(sys.modules)
        modules.start()
        self.addCleanup(modules.stop)
        self.addCleanup(sys.set_coroutine_origin_tracking_depth, 0)
        self.addCleanup(gc.collect)
        self.host_of_tools = Host({"f__read": echo, "f__fail": fail, "f__strict": strict}, polls=2)

    def run_script(self, code: str, **args: Any) -> dict[str, Any]:
        return script(Context(tools=Tools(self.host_of_tools)), {"code": code, **({"args": args} if args else {})})

    def result(self, code: str, **args: Any) -> Any:
        found = self.run_script(code, **args)
        self.assertEqual([*found], ["result"], found)
        return found["result"]

    def error(self, code: str) -> ToolError:
        with self.assertRaises(ToolError) as raised:
            self.run_script(code)
        self.assertEqual(raised.exception.code, "E_SCRIPT")
        return raised.exception

    def failed(self, code: str, message: str, suggestion: str = "") -> None:
        error = self.error(code)
        self.assertEqual(str(error), message)
        self.assertIn(suggestion, error.suggestion)


class Results(Script):
    def test_are_what_is_returned_or_the_last_expression(self) -> None:
        for code, expected in [
            ("", None),
            ("# nothing", None),
            ("return 1", 1),
            ("if True:\n    return 1\n2", 1),
            ("x = 2\nx + 1", 3),
            ("'text'", "text"),
            ("args['n'] + 1", 8),
            ("sorted(args)", ["n"]),
            ("import math\nmath.pi > 3", True),
            ("import sys\nsys.exit()", None),
            ("raise SystemExit(0)", None),
            ("```python\n1 + 1\n```", 2),
            ("\n```\n1 + 1\n```  \n", 2),
            ("await asyncio.sleep(0)\nreturn 5", 5),
            ("async def main():\n    return 6\nawait main()", 6),
            ("async def main():\n    return 7\nif __name__ == '__main__':\n    x = asyncio.run(main())\nx", 7),
            ("async def main():\n    return 8\nasyncio.run(main())", 8),
        ]:
            with self.subTest(code):
                self.assertEqual(self.result(code, n=7), expected)

    def test_that_are_set_and_not_returned_are_a_note(self) -> None:
        note = "note: nothing is returned, so the result is null: end with `return {}`\n"
        for code, name in [
            ("x = 2", "x"),
            ("async def main():\n    return 6\nresult = await main()", "result"),
            ("n = 1\nn += 1", "n"),
            ("n: int = 1", "n"),
            ("def main():\n    return 1\nif __name__ == '__main__':\n    main()", "VALUE"),
        ]:
            with self.subTest(code):
                self.assertEqual(self.run_script(code), {"result": None, "log": note.format(name)})
        for code in ("x = None", "def main():\n    pass\nmain()", "for x in [1]:\n    y = x", "return"):
            with self.subTest(code):
                self.assertEqual(self.run_script(code), {"result": None})
        self.assertEqual(self.run_script("print(1)\nx = 2")["log"], "1\n" + note.format("x"))

    def test_are_converted_as_those_of_typed_functions(self) -> None:
        code = """
from __future__ import annotations
import dataclasses, datetime, decimal, enum, uuid
@dataclasses.dataclass
class Row:
    when: datetime.date
    tags: set[str]
return [Row(datetime.date(2026, 1, 2), {"b", "a"}), decimal.Decimal("1.50"), {1: (2, 3)}, uuid.UUID(int=1), b"x"]"""
        row = {"when": "2026-01-02", "tags": ["a", "b"]}
        expected = [row, "1.50", {"1": [2, 3]}, "00000000-0000-0000-0000-000000000001", "eA=="]
        self.assertEqual(self.result(code), expected)

    def test_that_are_no_json_are_refused_with_their_place(self) -> None:
        for code, place in [
            ("return {'a': [1, object()]}", "result['a'][1] is of type object"),
            ("return [float('inf')]", "result[0] is inf, which is not a JSON number"),
            ("x = []\nx.append(x)\nx", "result[0] contains itself"),
            ("[tools]", "result[0] is of type Tools"),
            (f"await asyncio.sleep(0)\n[{READ}()]", "result[0] is of type coroutine (await it)"),
        ]:
            with self.subTest(code):
                self.assertEqual(str(self.error(code)), f"the result is not JSON: {place}")
        self.assertEqual(self.host_of_tools.asked, [])

    def test_of_tools_are_data(self) -> None:
        hostile = "__import__('os').abort()\n```python\nreturn 1"
        self.assertEqual(self.result(f"return {READ}(**args)", text=hostile, __class__="x"), {"text": hostile, "__class__": "x"})
        code = f"r = {READ}(**args)\nr['__class__'], type(r).__name__, r.get('tools')"
        self.assertEqual(self.result(code, __class__="x"), ["x", "dict", None])

    def test_see_variables_as_those_of_a_module(self) -> None:
        code = "n: int = 0\ndef f():\n    global n\n    n += 1\n    return [n for n in range(2)]\nf(), n, [n for _ in 'a']"
        self.assertEqual(self.result(code), [[0, 1], 1, [1]])


class Calls(Script):
    def test_need_no_await_where_the_script_has_none(self) -> None:
        code = f"def both():\n    return {READ}(n=1), tools.f.read(n=2)\nreturn both() + ({READ}({{'n': 3}}),)"
        self.assertEqual(self.result(code), [{"n": 1}, {"n": 2}, {"n": 3}])

    def test_run_at_the_same_time(self) -> None:
        code = f"return sum(r['n'] for r in await asyncio.gather(*({READ}(n=n) for n in range(100))))"
        self.assertEqual(self.result(code), 4950)
        self.assertEqual((self.host_of_tools.most, self.host_of_tools.refused, Handle.open), (16, 0, 0))
        self.assertEqual(self.result(f"len(tools.gather(*[('f__read', {{}})] * 20))"), 20)

    def test_raise_what_the_script_can_catch(self) -> None:
        code = "try:\n    await tools.f.strict(x=1)\nexcept ToolCallError as e:\n    return [e.code, e.tool, e.schema, e.suggestion]"
        self.assertEqual(self.result(code), ["E_TOOL_INVALID_ARGS", "f__strict", {"type": "object"}, None])

    def test_that_fail_say_what_the_tool_said(self) -> None:
        self.failed("x = 1\ntools['f__fail']()", "ToolCallError: f__fail: it failed (E_MADE_UP)\nin line 2: tools['f__fail']()", "try another")
        error = self.error("await tools.f.strict(x=1)")
        self.assertIn("(E_TOOL_INVALID_ARGS)\nin line 1: await tools.f.strict(x=1)", str(error))
        self.assertIn('the parameters of f__strict: {"type": "object"}', error.suggestion)
        self.failed("tools['nope']()", "ToolCallError: nope: no tool nope (E_TOOL_NOT_IN_CATALOG)\nin line 1: tools['nope']()", "did you mean")
        self.assertIn("did you mean `read`", str(self.error("tools.f.raed()")))

    def test_that_fail_in_groups_say_the_first(self) -> None:
        code = "async with asyncio.TaskGroup() as g:\n    g.create_task(tools.f.fail())\n    g.create_task(tools.f.fail())"
        message = str(self.error(code))
        self.assertIn("ToolCallError: f__fail: it failed (E_MADE_UP) (the first of 2 errors)", message)

    def test_that_are_not_awaited_are_an_error_and_not_made(self) -> None:
        never = "a call of a tool is not awaited, so nothing of it was done\nin line 2: "
        for line in (f"{READ}(n=1)", f"x = {READ}(n=1)", "x = tools.f.read(n=1)", "x = tools.call('f__read')"):
            with self.subTest(line):
                self.failed(f"await asyncio.sleep(0)\n{line}\nreturn 1", never + line, "write `await`")
        self.failed("async def main(): pass\nmain()\nreturn 1", "`main` is not awaited, so nothing of it was done\nin line 2: main()")
        self.failed("async def main(): pass\nmain()", "`main` is not awaited, so nothing of it was done\nin line 2: main()")
        self.assertIn("'coroutine' object is not subscriptable", str(self.error(f"await asyncio.sleep(0)\n{READ}(n=1)['n']")))
        self.assertEqual(self.host_of_tools.asked, [])

    def test_that_run_on_at_the_end_are_an_error(self) -> None:
        still = "a task still runs at the end of the script\nin line 1: "
        self.host_of_tools.polls = 1_000_000
        line = "t = asyncio.create_task(tools.f.read())"
        self.failed(f"{line}\nawait asyncio.sleep(0)\nreturn 1", still + line, "every task")
        line = "async def main(): asyncio.create_task(asyncio.sleep(9))"
        self.failed(f"{line}\nasyncio.run(main())\nreturn 1", still + line)

    def test_that_are_cancelled_are_no_error(self) -> None:
        self.host_of_tools.polls = 1_000_000
        code = "t = asyncio.create_task(tools.f.read())\nawait asyncio.sleep(0)\nt.cancel()\nreturn 1"
        self.assertEqual(self.result(code), 1)

    def test_that_fail_in_a_task_that_nobody_awaits_are_an_error(self) -> None:
        code = "asyncio.create_task(tools.f.fail())\nawait asyncio.sleep(0.01)\nreturn 1"
        self.assertIn("ToolCallError: f__fail: it failed", str(self.error(code)))

    def test_are_there_in_the_next_script_whatever_the_last_did(self) -> None:
        self.result("tools = None\nasyncio = json = print = 1\ntry:\n    del args\nfinally:\n    return None")
        self.assertEqual(self.result(f"{READ}(n=1)"), {"n": 1})


class Mistakes(Script):
    def test_have_the_line_of_the_script_alone(self) -> None:
        self.failed("x = 1\n\nx / 0  # why", "ZeroDivisionError: division by zero\nin line 3: x / 0  # why", "correct the script")
        code = "def f(n):\n    return 1 / n\ndef g():\n    return f(0)\nx = g()"
        self.failed(code, "ZeroDivisionError: division by zero\nin line 2: return 1 / n\ncalled in line 5: x = g()")
        self.failed("print('seen', 3)\n1 / 0", "ZeroDivisionError: division by zero\nin line 2: 1 / 0\nlog: seen 3")
        self.failed("json.loads('{')", f"JSONDecodeError: {self.text_of('{')}\nin line 1: json.loads('{{')")
        self.failed("async def f():\n    raise KeyError('k')\nawait f()", "KeyError: 'k'\nin line 2: raise KeyError('k')\ncalled in line 3: await f()")

    @staticmethod
    def text_of(text: str) -> str:
        try:
            module.json.loads(text)
        except ValueError as error:
            return str(error)
        return ""

    def test_of_syntax_have_their_line(self) -> None:
        for code, message in [
            ("x = 1\ny = (", "SyntaxError: '(' was never closed\nin line 2: y = ("),
            ("```python\nx = = 1\n```", "SyntaxError: invalid syntax\nin line 2: x = = 1"),
            ("x = 1\nyield x", "SyntaxError: 'yield' outside function\nin line 2: yield x"),
            ("def main():\n    return 1", "SyntaxError: nothing calls `main`\nin line 1: def main():"),
        ]:
            self.failed(code, message)
        self.assertIn("await main()", self.error("async def main():\n    return 1").suggestion)

    def test_of_names_say_what_there_is(self) -> None:
        self.failed("tool.f.read()", "NameError: name 'tool' is not defined\nin line 1: tool.f.read()", "did you mean `tools`? The script has `tools`, `args`, `asyncio`, `json`, `ToolCallError`")
        self.assertIn("write `import re` before", self.error("re.sub('a', 'b', 'c')").suggestion)
        self.assertIn("`rows`", self.error("rows = []\nrow").suggestion)

    def test_have_the_next_move(self) -> None:
        self.assertIn("no packages", self.error("import numpy").suggestion)
        self.assertIn("write `await main()`", self.error("async def main(): pass\nawait main()\nasyncio.run(main())").suggestion)
        self.assertIn("return VALUE", self.error("import sys\nsys.exit('no')").suggestion)
        self.assertEqual(str(self.error("raise SystemExit(3)")), "SystemExit: 3\nin line 1: raise SystemExit(3)")
        message = "the handler awaits something that never completes\nin line 2: await asyncio.Event().wait()"
        self.failed("x = 1\nawait asyncio.Event().wait()", message)

    def test_are_short_however_long_the_text_is(self) -> None:
        error = self.error("x = 'x' * (1 << 20); raise ValueError(x)" + " " * 10_000)
        self.assertLess(len(str(error)), 1500)
        self.assertLess(len(str(self.error("print('x' * (1 << 20))\n1 / 0"))), 600)
        self.assertIn("\nin line 1: x = 'x'", str(error))
        self.assertLess(len(str(self.error("tools['a' * (1 << 20)]()"))), 1500)
        self.assertLess(len(self.error("a" * (1 << 20)).suggestion), 500)

    def test_of_endless_recursion_end(self) -> None:
        error = self.error("def f(): return f()\nf()")
        self.assertEqual(error.name, "RecursionError")
        self.assertIn("in line 1: def f(): return f()\ncalled in line 2: f()", str(error))


class Log(Script):
    def test_is_apart_from_the_result(self) -> None:
        code = "import sys, warnings\nprint('one')\nprint('two', file=sys.stderr)\nwarnings.warn('three')\nreturn 1"
        found = self.run_script(code)
        self.assertEqual(found["result"], 1)
        self.assertRegex(found["log"], r"^one\ntwo\n<script>:4: UserWarning: three\n")

    def test_is_cut_and_says_how_much(self) -> None:
        log = self.run_script("for n in range(100_000): print(n)")["log"]
        self.assertLess(len(log), LOG + 100)
        self.assertTrue(log.startswith("0\n1\n") and log.endswith("\n99999\n"))
        self.assertIn(f"[… {588_890 - LOG} bytes left out", log)


class Fences(unittest.TestCase):
    def test_are_taken_off_and_lines_keep_their_numbers(self) -> None:
        for source, expected in [
            ("```python\nx\n```", "\nx\n"),
            (" \n```\nx\n\n``` \n", "\n\nx\n\n"),
            ("x = '```'", "x = '```'"),
            ("```js\nx\n```", "```js\nx\n```"),
            ("```", "```"),
            ("``````", "``````"),
        ]:
            with self.subTest(source):
                self.assertEqual(without_fence(source), expected)


if __name__ == "__main__":
    unittest.main()
