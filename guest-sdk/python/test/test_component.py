"""Components, called through the host."""

import json
import sys
import unittest
from datetime import datetime, timezone
from typing import Any

from shapes import CALLS, NEW_SHAPES, SHAPES
from support import EXPORTS, SDK, Bundle, component, example

sys.path.insert(0, str(SDK))
from builder.library import LIBRARY  # noqa: E402

HANDLERS = ["run", "wait", "chance", "modules", "library", "log", "fail", "start"]


class Probe(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.bundle = Bundle(component("probe"), HANDLERS)

    def output(self, handler: str, **args: Any) -> Any:
        result = self.bundle.call(handler, **args)
        self.assertEqual(result["status"], "ok", result)
        return result.get("output")

    def error(self, handler: str, **args: Any) -> dict[str, Any]:
        result = self.bundle.call(handler, **args)
        self.assertEqual(result["status"], "error", result)
        return result["error"]

    def test_describes_its_handlers(self) -> None:
        listed = {item["name"]: item for item in self.bundle.listed()}
        self.assertEqual(listed["t__run"]["description"], "Runs code.")
        self.assertEqual(listed["t__wait"]["description"], "Waits, then answers")
        self.assertIn("seconds", json.dumps(listed["t__wait"]["parameters"]))

    def test_gives_the_context(self) -> None:
        code = "result = [ctx.agent_name, ctx.instance_key, ctx.tool_call_id, ctx.workdir, type(ctx.message).__name__]"
        self.assertEqual(self.output("run", code=code), ["default", "cli", "call_1", "/", "dict"])
        code = "result = [isinstance(ctx, toolhost.Context), ctx.message == ctx.message, len(ctx.message) > 0]"
        self.assertEqual(self.output("run", code=code), [True, True, True])
        self.assertEqual(self.error("run", code="ctx.other")["name"], "AttributeError")
        self.assertEqual(self.error("run", code="ctx.workdir = 'x'")["name"], "FrozenInstanceError")

    def test_works_in_the_workdir(self) -> None:
        (self.bundle.workdir / "a.txt").write_text("hello")
        code = "import os; open('b.txt', 'w').write('x'); result = [open('a.txt').read(), os.getcwd()]"
        self.assertEqual(self.output("run", code=code), ["hello", "/"])
        self.assertEqual((self.bundle.workdir / "b.txt").read_text(), "x")

    def test_has_the_environment_that_is_granted(self) -> None:
        code = "import os; result = [dict(os.environ), os.getenv('COLOUR')]"
        self.assertEqual(self.output("run", code=code), [{}, None])
        granted = self.bundle.call_granted({"env": {"COLOUR": "blue"}}, "run", code=code)
        self.assertEqual(granted["output"], [{"COLOUR": "blue"}, "blue"])

    def test_takes_no_module_from_the_workdir(self) -> None:
        for folder in ("", "0", "python"):
            (self.bundle.workdir / folder).mkdir(exist_ok=True)
            (self.bundle.workdir / folder / "planted.py").write_text("")
        self.assertEqual(self.error("run", code="import planted")["name"], "ModuleNotFoundError")

    def test_runs_coroutines_to_their_end(self) -> None:
        waited = self.output("wait", seconds=0.1)["waited"]
        self.assertTrue(0.1 <= waited < 2, waited)

    def test_says_that_nothing_wakes_a_coroutine(self) -> None:
        error = self.error("run", code="import asyncio\nasync def f(): await asyncio.Event().wait()\nasyncio.run(f())")
        self.assertEqual(error["message"], "the handler awaits something that never completes")

    def test_is_fresh_in_each_call(self) -> None:
        first, second = self.output("chance"), self.output("chance")
        for key in ("random", "secret", "uuid", "file", "time", "now"):
            self.assertNotEqual(first[key], second[key], key)
        self.assertEqual((first["calls"], second["calls"]), (1, 1))
        age = datetime.now(timezone.utc).timestamp() - second["time"]
        self.assertTrue(0 <= age < 60, age)

    def test_has_imported_the_library_that_functions_import(self) -> None:
        names = ["base64", "email", "encodings.utf_8_sig", "heapq", "helper", "shapes.circle"]
        loaded = self.output("run", code=f"import sys; result = [name in sys.modules for name in {names}]")
        self.assertEqual(dict(zip(names, loaded)), {name: name not in ("helper", "shapes.circle") for name in names})

    def test_gives_a_call_adjacent_memory(self) -> None:
        code = "blocks = [bytes(n) for n in range(16, 416)]; result = len({id(it) >> 12 for it in blocks})"
        # 400 blocks of 250 bytes on average fill 25 pages. Pages that are free already have room for some.
        self.assertLess(self.output("run", code=code), 60)

    def test_has_the_standard_library_that_the_check_expects(self) -> None:
        found = set(self.output("run", code="import tool; result = tool.LIBRARY"))
        # These have files, but need modules in C that are not there.
        broken = {"bz2", "ctypes", "curses", "lzma", "pty", "ssl", "tkinter", "tty", "turtle"}
        self.assertEqual(found - broken, LIBRARY)

    def test_bundles_modules_packages_and_requirements(self) -> None:
        self.assertEqual(
            self.output("modules"),
            {
                "area": 3,
                "data": ["one", "two"],
                "helper": "helper",
                "package": "oxen",
                "date": "2026-01-02T00:00:00",
                "codec": "c7d1",
                "email": "body",
                "base64": "eA==",
            },
        )

    def test_has_what_other_pythons_read_from_files_or_openssl(self) -> None:
        self.assertEqual(
            self.output("library"),
            {
                "zone": "2024-07-01 12:00:00+02:00",
                "arguments": [{}, ["tool.py"]],
                "renamed": "HTMLParser",
                "key": "1d6f1f7051b420b93e23f010e486cfea6ccfee906a43ffac9f5ea7adc07869dd",
                "data": ["one two\n", ["words.txt"]],
                "loaded": 8,
                "version": "0.5.1",
                "database": 2,
            },
        )
        error = self.error("run", code="import importlib.resources as r; (r.files('shapes') / 'none').read_text()")
        self.assertEqual((error["name"], error["message"]), ("FileNotFoundError", "shapes/none"))

    def test_logs_and_prints(self) -> None:
        stderr = self.bundle.call("log")["stderr"]
        for expected in ("from the tool", "from a library", "library", "printed"):
            self.assertIn(expected, stderr)

    def test_gives_exceptions_to_the_model(self) -> None:
        expected = {
            "message": "sheet Q3 does not exist",
            "name": "NoSuchSheet",
            "code": "NO_SHEET",
            "suggestion": "use Sheet1",
            "helpUrl": "https://example.com/sheets",
        }
        self.assertEqual(self.error("fail"), expected)

    def test_shows_the_author_where_it_failed(self) -> None:
        stderr = self.bundle.call("fail")["stderr"]
        self.assertIn('raise NoSuchSheet("sheet Q3 does not exist")', stderr)
        self.assertNotIn("_tool.py", stderr)
        self.assertIn('File "tool.py", line ', stderr)

    def test_survives_the_end_of_the_program(self) -> None:
        self.assertEqual(self.error("run", code="import sys; sys.exit(3)")["name"], "SystemExit")
        self.assertEqual(self.error("run", code="raise KeyboardInterrupt")["name"], "KeyboardInterrupt")

    def test_says_what_the_sandbox_has_not(self) -> None:
        for code, message in [
            ("import subprocess; subprocess.run(['ls'])", "no process can be started"),
            ("import os; os.system('ls')", "no process can be started"),
            ("import socket; socket.create_connection(('1.1.1.1', 80))", "the network is closed"),
            ("import threading; threading.Thread(target=print).start()", "cannot start threads"),
            ("import asyncio; asyncio.run(asyncio.to_thread(print))", "cannot start threads"),
        ]:
            with self.subTest(code):
                error = self.error("run", code=code)
                self.assertIn(message, error["message"])
                self.assertEqual(error["name"], "SandboxError")
        self.assertIn("bash__exec", self.error("run", code="import os; os.popen('ls')")["suggestion"])

    def test_names_what_is_no_json(self) -> None:
        error = self.error("run", code="result = {'a': [b'x']}")
        self.assertIn("result['a'][0] is of type bytes", error["message"])

    def test_answers_later(self) -> None:
        pending = self.bundle.call("start", handle="job-1")
        self.assertEqual(pending["status"], "pending", pending)
        done = self.bundle.poll(pending["handle"])
        self.assertEqual((done["status"], done["output"]), ("ok", {"done": "job-1"}))
        still = self.bundle.call("start", handle="still")
        self.assertEqual(self.bundle.poll(still["handle"])["status"], "pending")


class Typed(unittest.TestCase):
    """The functions with typed parameters, in the same component."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.exports = EXPORTS[component("probe")]
        cls.bundle = Bundle(component("probe"))

    def test_each_shape_is_called_and_refused_through_the_host(self) -> None:
        every = {**SHAPES, **NEW_SHAPES}
        exports = {it["name"]: it for it in self.exports}
        calls = [(name, {"x": value}, arrives) for name, (_, values, _) in every.items() for value, arrives in values]
        calls += [(name, {"x": value}, None) for name, (_, _, wrong) in every.items() for value in wrong]
        for name, (schema, _, _) in every.items():
            self.assertEqual(exports[name]["parameters"]["properties"]["x"], schema, name)
        cases = [
            {
                "name": f"{number} {name}",
                "tool": f"t__{name}",
                "args": args,
                "expect": {"status": "error"} if arrives is None else {"output": arrives},
            }
            for number, (name, args, arrives) in enumerate(calls + CALLS)
        ]
        report = self.bundle.test(cases)
        self.assertEqual([it for it in report["cases"] if it["status"] != "passed"], [], report)


class CsvStats(unittest.TestCase):
    """The example."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.bundle = Bundle(example(), ["describe", "count"])
        (cls.bundle.workdir / "sales.csv").write_text(
            "region;amount;note\nnorth;10;\nsouth;20.5;late\nnorth;30;\n", encoding="utf-8-sig"
        )

    def test_describes_columns(self) -> None:
        result = self.bundle.call("describe", path="sales.csv", top=1)
        self.assertEqual(result["status"], "ok", result)
        self.assertEqual(result["output"]["rows"], 3)
        region, amount, note = result["output"]["columns"]
        self.assertEqual(
            region,
            {
                "name": "region",
                "type": "text",
                "count": 3,
                "empty": 0,
                "distinct": 2,
                "top": [{"value": "north", "count": 2}],
            },
        )
        figures = {"min": 10, "max": 30, "mean": 20.1667, "median": 20.5, "stdev": 10.0042}
        self.assertEqual(amount, {**amount, "type": "number", **figures})
        self.assertEqual((note["empty"], note["distinct"]), (2, 1))

    def test_counts_by_a_column(self) -> None:
        result = self.bundle.call("count", path="sales.csv", by="region", limit=1)
        self.assertEqual(result["output"]["counts"], [{"value": "north", "count": 2}])

    def test_says_which_columns_there_are(self) -> None:
        error = self.bundle.call("count", path="sales.csv", by="x")["error"]
        self.assertEqual(error["code"], "NO_SUCH_COLUMN")
        self.assertEqual(error["suggestion"], "its columns are: region, amount, note")


if __name__ == "__main__":
    unittest.main()
