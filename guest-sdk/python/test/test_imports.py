"""Which tools import `wasi:http` and `goondan:tool/tools`."""

import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from builder.imports import uses_tools, uses_web  # noqa: E402
from builder.world import lay_out_world  # noqa: E402


class Decision(unittest.TestCase):
    def uses(
        self, tool: str, own: dict[str, str] | None = None, packages: dict[str, str] | None = None, *, tools: bool = False
    ) -> bool:
        with TemporaryDirectory() as dir:
            files = {"tool/tool.py": tool} | {f"tool/{name}": text for name, text in (own or {}).items()}
            files |= {f"packages/{name}": text for name, text in (packages or {}).items()}
            for name, text in files.items():
                file = Path(dir, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            entry = Path(dir, "tool/tool.py")
            return uses_tools(entry) if tools else uses_web(entry, Path(dir, "packages"))

    def test_is_that_the_tool_imports_a_client(self) -> None:
        for text in (
            "import http.client",
            "import json, urllib.request as r",
            "from urllib import request",
            "from http.client import HTTPSConnection",
            "def f():\n    import ssl",
            "try:\n\timport urllib.request\nexcept ImportError: pass",
            "from urllib import (\n  parse,\n  request,\n)",
        ):
            self.assertTrue(self.uses(text), text)
        for text in ("import json", "import urllib.parse", "from urllib import parse", "import http", "# import ssl", "import socket"):
            self.assertFalse(self.uses(text), text)

    def test_is_that_a_module_or_package_of_it_does(self) -> None:
        self.assertTrue(self.uses("import own", {"own.py": "import ssl"}))
        self.assertTrue(self.uses("import own.a", {"own/__init__.py": "", "own/a.py": "from .b import c", "own/b.py": "import ssl"}))
        self.assertTrue(self.uses("from own import a", {"own/__init__.py": "", "own/a.py": "from . import b", "own/b.py": "import ssl"}))
        self.assertTrue(self.uses("import a", packages={"a/__init__.py": "import b", "b.py": "from .c import d\nimport ssl"}))
        self.assertFalse(self.uses("import a", {"b.py": "import ssl"}, {"a.py": "", "c.py": "import ssl"}))

    def test_is_that_a_module_of_it_reads_the_tools(self) -> None:
        for text in ("def f(ctx): return ctx.tools['a__b']()", "async def f(c):\n    await c.tools.gather()", "x = = .tools"):
            self.assertTrue(self.uses(text, tools=True), text)
        for text in ("# ctx.tools", '"""ctx.tools"""', "tools = 1", "def f(ctx): return ctx.logger", "x = = tools"):
            self.assertFalse(self.uses(text, tools=True), text)
        self.assertTrue(self.uses("import own", {"own.py": "def f(ctx): return ctx.tools"}, tools=True))
        self.assertFalse(self.uses("import a", {"b.py": "a.tools"}, {"a.py": "x.tools"}, tools=True))


class World(unittest.TestCase):
    def test_has_the_imports_of_what_is_used(self) -> None:
        contract = Path(__file__).resolve().parents[3] / "wit"
        for web, tools, expected in [(False, False, 0), (True, False, 2), (False, True, 2), (True, True, 3)]:
            with TemporaryDirectory() as dir:
                lay_out_world(contract, Path(dir, "wit"), False, web, tools)
                world = Path(dir, "wit/world.wit").read_text()
                self.assertEqual((world.count("import "), "wasi:http" in world, "goondan:tool/tools@" in world), (expected, web, tools))


if __name__ == "__main__":
    unittest.main()
