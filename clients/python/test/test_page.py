"""The snippets of the page run."""

import json
import re
import unittest
from typing import Any

from support import REPOSITORY, ClientTest
from toolhost_client import Toolhost

PAGE = REPOSITORY / "docs" / "clients" / "python.md"
SNIPPETS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)


class Snippets(ClientTest):
    async def test_the_agent_loop_of_the_page_runs(self) -> None:
        self.assertEqual(len(SNIPPETS), 2)
        loop: dict[str, Any] = {}
        exec(SNIPPETS[0], loop)
        exec(SNIPPETS[1], {})
        asked = []

        def call(call_id: str, text: str) -> dict[str, Any]:
            function = {"name": "text__upper", "arguments": json.dumps({"text": text})}
            return {"id": call_id, "type": "function", "function": function}

        async def model(messages: list[Any], tools: list[Any]) -> dict[str, Any]:
            asked.append(tools[0]["function"]["name"])
            results = [json.loads(m["content"]) for m in messages if m["role"] == "tool"]
            if not results:
                calls = [call("a", "one"), call("b", "two")]
                return {"role": "assistant", "content": None, "tool_calls": calls}
            text = " ".join(result["text"] for result in results)
            return {"role": "assistant", "content": text}

        async with await Toolhost.spawn(self.bundle, **self.options()) as host:
            self.assertEqual(await loop["answer"](host, model, "What is upper case?"), "ONE TWO")
        self.assertEqual(asked, ["text__upper", "text__upper"])


if __name__ == "__main__":
    unittest.main()
