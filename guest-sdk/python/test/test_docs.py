"""The snippets of the page for authors are code that runs."""

import asyncio
import re
import sys
import unittest
from pathlib import Path
from types import ModuleType
from typing import Any

KIT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(KIT / "sdk"))

from toolhost import Context, ToolError
from toolhost._tool import Tool

PAGE = KIT.parent.parent / "docs" / "authors" / "python.md"
SNIPPETS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)


class Snippets(unittest.TestCase):
    def test_the_page_has_three(self) -> None:
        self.assertEqual(len(SNIPPETS), 3)

    def test_the_function_runs(self) -> None:
        module = ModuleType("tool")
        exec(SNIPPETS[0], vars(module))
        self.assertEqual(module.search(Context(), "tea", limit=1), ["tea 1"])
        [export] = Tool(module, polls=False).exports()
        properties = export["parameters"]["properties"]
        self.assertEqual(properties["text"]["description"], "Words that a note contains")
        self.assertEqual((properties["limit"]["maximum"], export["parameters"]["required"]), (100, ["text"]))

    def test_the_function_calls_another_tool(self) -> None:
        module = ModuleType("tool")
        exec(SNIPPETS[1], vars(module))

        async def read(path: str, limit: int) -> dict[str, Any]:
            return {"path": path, "size": limit}

        sizes = module.sizes(Context(tools={"file-system__read": read}), ["a", "b"])
        self.assertEqual(asyncio.run(sizes), {"a": 1, "b": 1})

    def test_the_error_has_a_code_and_a_suggestion(self) -> None:
        names = {"ToolError": ToolError, "path": "a.csv", "name": "x", "columns": ["a", "b"]}
        with self.assertRaises(ToolError) as raised:
            exec(SNIPPETS[2], names)
        self.assertEqual(raised.exception.code, "NO_SUCH_COLUMN")
        self.assertEqual(raised.exception.suggestion, "its columns are: a, b")
