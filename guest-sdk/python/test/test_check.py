"""What is found in a tool's sources before anything is built."""

import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from support import FIXTURES, SDK, build

sys.path.insert(0, str(SDK))
from builder.check import Tool  # noqa: E402
from builder.failure import BuildError  # noqa: E402
from builder.library import ABSENT, LIBRARY  # noqa: E402

HANDLERS = 'def a(ctx, input):\n    return input\n\nhandlers = {"a": a}\n'


class Check(unittest.TestCase):
    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def checked(self, entry: str, files: dict[str, str] | None = None, packages: Path | None = None) -> Tool:
        for name, text in {"tool.py": entry, **(files or {})}.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        tool = Tool.read(self.folder / "tool.py")
        tool.names = tool.handlers()
        tool.check_imports(packages)
        return tool

    def refused(self, place: str, message: str, entry: str, files: dict[str, str] | None = None) -> BuildError:
        with self.assertRaises(BuildError) as raised:
            self.checked(entry, files)
        error = raised.exception
        self.assertEqual(":".join(str(it) for it in (error.file, error.line) if it is not None), place)
        self.assertIn(message, error.message)
        self.assertTrue(error.next_move)
        return error

    def test_a_syntax_error_has_its_place(self) -> None:
        error = self.refused("tool.py:2", "syntax error: ", "import os\ndef a(:\n  pass\n")
        self.assertEqual((error.column, error.detail), (7, "def a(:\n"))
        self.refused("tool.py:1", "'return' outside function", "return 1\n" + HANDLERS)
        self.refused("tool.py:1", "'await' outside function", "await x\n" + HANDLERS)
        self.refused("helper.py:1", "syntax error", "import helper\n" + HANDLERS, {"helper.py": "x = = 1\n"})

    def test_a_module_that_the_entry_does_not_import_is_not_checked(self) -> None:
        self.checked(HANDLERS, {"conftest.py": "import pytest\n", "broken.py": "x = = 1\n"})

    @unittest.skipIf(sys.version_info >= (3, 12), "this Python parses it")
    def test_syntax_that_only_the_component_knows_is_left_to_the_build(self) -> None:
        for line in ['x = f"{d["a"]}"', "type X = int", "def f[T](x: T) -> T: ...", "class A[T]: ..."]:
            self.checked(f"{line}\n{HANDLERS}")

    def test_a_missing_module_is_reported_with_its_line(self) -> None:
        self.refused("tool.py:2", "module `requsts` was not found", "import os\nimport requsts\n" + HANDLERS)
        self.refused("tool.py:1", "module `nope` was not found", "from nope.deep import x\n" + HANDLERS)
        self.refused("tool.py:1", "`pkg.gone`", "import pkg.gone\n" + HANDLERS, {"pkg/__init__.py": ""})
        self.refused("pkg/a.py:1", "`nope`", "from pkg import a\n" + HANDLERS, {"pkg/__init__.py": "", "pkg/a.py": "import nope\n"})
        error = self.refused("tool.py:1", "module `jsn` was not found", "import jsn\n" + HANDLERS)
        self.assertIn("did you mean `json`?", error.next_move)
        error = self.refused("tool.py:1", "`gone1`", "import gone1\nimport gone2\n" + HANDLERS)
        self.assertEqual([it.line for it in error.others], [2])

    def test_a_module_that_a_component_cannot_have_is_reported_as_such(self) -> None:
        error = self.refused("tool.py:1", "the component's Python has no module `lzma`", "import lzma\n" + HANDLERS)
        self.assertIn("remove the import", error.next_move)
        self.refused("tool.py:1", "no module `cgi`", "import cgi\n" + HANDLERS)

    def test_a_folder_without_an_init_file_is_reported_as_such(self) -> None:
        self.refused("tool.py:1", "without an `__init__.py`", "import lib.x\n" + HANDLERS, {"lib/x.py": ""})

    def test_modules_that_are_there_are_not_reported(self) -> None:
        packages = self.folder / "packages"
        (packages / "inflection").mkdir(parents=True)
        (packages / "six.py").write_text("")
        files = {
            "helper.py": "",
            "pkg/__init__.py": "from . import a\nfrom .b import x\n",
            "pkg/a.py": "from .sub.deep import y\n",
            "pkg/b.py": "x = 1\n",
            "pkg/sub/deep.py": "y = 1\n",
            "lazy/__init__.py": "import sys\nsys.modules['lazy.made'] = sys\n",
        }
        entry = "import os.path, json, inflection.x, six, helper, pkg.a, toolhost, annotationlib, lazy.made\n"
        entry += "from pkg import b, name\nfrom helper import *\n"
        self.checked(entry + HANDLERS, files, packages)

    def test_an_import_that_may_fail_is_not_reported(self) -> None:
        for text in [
            "try:\n    import orjson\nexcept ImportError:\n    orjson = None\n",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import nope\n",
            "import contextlib\nwith contextlib.suppress(ImportError):\n    import nope\n",
        ]:
            self.assertEqual(self.checked(text + HANDLERS).notes, [])

    def test_a_missing_module_in_a_function_is_a_note(self) -> None:
        tool = self.checked("def f():\n    import nope\n" + HANDLERS)
        [note] = tool.notes
        self.assertEqual((note.file, note.line), ("tool.py", 2))
        self.assertIn("module `nope` was not found: a call that runs this import fails", note.message)

    def test_the_names_of_handlers_are_read_where_they_are_written_out(self) -> None:
        functions = "def a(ctx, input): ...\ndef b(ctx, input): ...\n"
        for text, names in [
            ('handlers = {"a": a, "b": b}', ["a", "b"]),
            ('handlers: dict[str, object] = {"a": a}', ["a"]),
            ('handlers = {"a": lambda c, i: i, "p": print}', ["a", "p"]),
            ('handlers = {"a": a}\nhandlers["b"] = b', None),
            ('handlers = {"a": a}\nhandlers.update(b=b)', None),
            ('more = {"a": a}\nhandlers = {**more}', None),
            ("handlers = dict(a=a)", None),
            ("handlers = {}", None),
            ("from helper import handlers", None),
            ("from helper import *", None),
            ('globals()["handlers"] = {"a": a}', None),
        ]:
            tool = self.checked(f"{functions}{text}\n", {"helper.py": ""})
            self.assertEqual(tool.names, names, text)

    def test_the_names_of_marked_functions_are_read_where_they_are_written_out(self) -> None:
        for text, names in [
            ("from toolhost import tool\n@tool\ndef a(): ...\n@tool(name='c')\nasync def b(): ...\n", ["a", "c"]),
            ("import toolhost as t\n@t.tool()\ndef a(): ...\n@t.tool\ndef b(): ...\n", ["a", "b"]),
            ("from toolhost import tool as mark\n@mark\ndef a(): ...\ndef b(): ...\nhandlers = {'b': b, 'c': a}\n", ["b", "c"]),
            ("from toolhost import *\n@tool\ndef a(): ...\n", None),
            ("from helper import h, other\nfrom helper import h as g\n", ["named"]),
            ("from helper import *\n", None),
            ("from toolhost import tool\nNAME = 'a'\n@tool(name=NAME)\ndef a(): ...\n", None),
            ("from toolhost import tool\n@tool\ndef a(): ...\nif a:\n  @tool()\n  def b(): ...\n", None),
        ]:
            helper = "from toolhost import tool\n@tool(name='named')\ndef h(): ...\ndef other(): ...\n"
            self.assertEqual(self.checked(text, {"helper.py": helper}).names, names, text)

    def test_marked_functions_that_cannot_be_handlers_are_reported(self) -> None:
        mark = "from toolhost import tool\n@tool\n"
        self.refused("tool.py:3", "a name has lower-case letters", mark + "def getRows(): ...\n")
        self.refused("tool.py:3", "the parameter `x` has no type", mark + "def a(x): ...\n")
        error = self.refused("tool.py:4", "the parameter `ctx` has no type", mark + "def a(y: int,\n  ctx=1): ...\n")
        self.assertIn("ctx: Context", error.next_move)
        error = self.refused("tool.py:2", "`@tool` is not the `tool` of toolhost", "def tool(x): ...\n@tool\ndef a(): ...\n")
        self.assertIn("from toolhost import tool", error.next_move)
        error = self.refused("tool.py:4", "`A.a` is a method", "from toolhost import tool\nclass A:\n  @tool\n  def a(self): ...\n")
        self.assertIn("write a function", error.next_move)

    def test_a_wrong_import_comes_before_the_handler_that_it_hides(self) -> None:
        for text, message, move in [
            ("from toolhsot import tool\n@tool\ndef a(): ...\n", "module `toolhsot` was not found", "did you mean `toolhost`?"),
            ("from toolhost import toool\n@toool\ndef a(): ...\n", "`toolhost` has no `toool`", "did you mean `tool`?"),
            ("from toolhost import Progress\ndef a(): ...\n", "`toolhost` has no `Progress`", "it has `Context`"),
            ("from fastmcp import FastMCP\nm = FastMCP()\n@m.tool\ndef a(): ...\n", "a tool needs no server", "from toolhost import tool"),
        ]:
            entry = self.folder / "tool.py"
            entry.write_text(text)
            [error] = build(entry, self.folder / "tool.wasm", "--check")["errors"]
            self.assertEqual((error["file"], error["line"]), ("tool.py", 1), text)
            self.assertIn(message, error["text"])
            self.assertIn(move, error["suggestion"])

    def test_missing_handlers_and_functions_are_reported(self) -> None:
        error = self.refused("tool.py", "there is no handler", "def _b(): ...\ndef a(ctx, input): ...\n")
        self.assertEqual(error.next_move, "write @tool above `a`")
        self.refused("tool.py:2", "`cuont` is not defined", 'def count(ctx, input): ...\nhandlers = {"a": cuont}\n')

    def test_a_source_that_cannot_be_parsed_here_is_left_to_the_build(self) -> None:
        self.assertEqual(self.checked("x = " + "-" * 100_000 + "1\n").sources, [])

    def test_the_examples_have_no_errors(self) -> None:
        self.assertFalse(LIBRARY & ABSENT)
        entry = SDK.parent.parent / "guest-examples/python/csv-stats/tool.py"
        tool = Tool.read(entry)
        tool.check_imports(None)
        self.assertEqual((tool.handlers(), tool.notes), (["describe", "count"], []))
        self.assertIsNone(Tool.read(FIXTURES / "probe/tool.py").handlers())


if __name__ == "__main__":
    unittest.main()
