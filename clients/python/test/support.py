"""Servers for the tests: the binary of $TOOLHOST, and the guests of this repository."""

import asyncio
import json
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

CLIENT = Path(__file__).resolve().parent.parent
REPOSITORY = CLIENT.parent.parent
PROGRAM = os.environ.get("TOOLHOST", "toolhost")
sys.path.insert(0, str(CLIENT))

#: A call that writes to /f until it is stopped.
ENDLESS: Any = {
    "id": "endless",
    "name": "write_bytes__run",
    "args": {"path": "/f", "bytes": 10**9, "chunk": 1, "mode": "append"},
}


def upper(text: str, call_id: str = "call-1") -> Any:
    return {"id": call_id, "name": "text__upper", "args": {"text": text}}


class ClientTest(unittest.IsolatedAsyncioTestCase):
    """A bundle of guests: text, one that writes until it is stopped, and one that answers `pending`."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory(prefix="toolhost-client-")
        self.addCleanup(temporary.cleanup)
        self.top = Path(temporary.name)
        self.bundle, self.workdir = self.top / "bundle", self.top / "workdir"
        for path in (self.bundle, self.workdir):
            path.mkdir()
        documents = []
        for name, exports in [("text", ["upper", "fail"]), ("write_bytes", ["run"]), ("pending", ["run"])]:
            spec = {"entry": f"./{name}.wasm", "exports": [{"name": export} for export in exports]}
            tool = {"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": name}}
            documents.append(json.dumps({**tool, "spec": spec}))
            shutil.copy(REPOSITORY / "target" / "guests" / f"{name}.wasm", self.bundle)
        (self.bundle / "goondan.yaml").write_text("\n---\n".join(documents), encoding="utf-8")

    def add_programs(self) -> None:
        """Adds the tool that runs programs in JavaScript to the bundle."""
        folder = REPOSITORY / "guest-examples" / "typescript" / "javascript"
        component = folder / ".toolhost" / "javascript.wasm"
        if not component.exists():
            self.skipTest(f"{component} is not built")
        shutil.copy(component, self.bundle)
        tool = (folder / "goondan.yaml").read_text(encoding="utf-8").split("\n---\n")[0]
        with (self.bundle / "goondan.yaml").open("a", encoding="utf-8") as manifest:
            manifest.write("\n---\n" + tool.replace("./index.ts", "./javascript.wasm"))

    def options(self) -> dict[str, Any]:
        return {"program": PROGRAM, "state_root": self.top / "state"}

    def written(self) -> int:
        file = self.workdir / "f"
        return file.stat().st_size if file.exists() else 0

    async def until_it_writes(self) -> None:
        """Waits until the endless call writes."""
        for _ in range(2000):
            if self.written() >= 100:
                return
            await asyncio.sleep(0.01)
        self.fail("the guest does not write")

    async def assert_stopped(self) -> None:
        """Fails if the endless call goes on for more than a moment."""
        for _ in range(50):
            before = self.written()
            await asyncio.sleep(0.1)
            if self.written() == before:
                return
        self.fail("the guest runs on")
