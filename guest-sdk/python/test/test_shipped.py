"""The bases that packages of a release have are those that builds find: both sides of the format are ours."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import REPOSITORY, SDK

# Tests need no small archives.
os.environ["TOOLHOST_DIST_LEVEL"] = "1"
sys.path += [str(SDK), str(REPOSITORY / "xtask" / "dist")]

from base import appended  # noqa: E402
from builder.shipped import Unusable, unpack_base  # noqa: E402
from python_bases import archives  # noqa: E402

KIT = "python-0123456789abcdef"
COMMON = {"library/python/json/__init__.py": b"import re", "library/python/this.py.kept": bytes(range(256))}
WORLDS = {
    "a" * 16: {**COMMON, "base.wasm": b"plain" * 1000, "sdk/toolhost_base.py": b"1"},
    "b" * 16: {**COMMON, "base.wasm": b"web" * 1000, "sdk/toolhost_base.py": b"2"},
}
# What is in front of the bases.
TOOLS = [("goondan.yaml", b"kind: Tool"), (".toolhost/bash.wasm", b"wasm")]


class Shipped(unittest.TestCase):
    def setUp(self) -> None:
        top = tempfile.TemporaryDirectory()
        self.addCleanup(top.cleanup)
        self.top = Path(top.name)
        self.program = self.top / "toolhost"
        self.packed = archives(KIT, WORLDS)

    def write(self, kits: list[tuple[str, bytes]]) -> bytes:
        data = b"\x7fELF the program" + appended(TOOLS, kits)
        self.program.write_bytes(data)
        return data

    def unpack(self, world: str, kit: str = KIT) -> dict[str, bytes] | None:
        with tempfile.TemporaryDirectory(dir=self.top) as folder:
            complete = Path(folder, "complete")
            if not unpack_base(self.program, kit, world, complete):
                self.assertFalse(complete.exists())
                return None
            return {str(it.relative_to(complete)): it.read_bytes() for it in complete.rglob("*") if it.is_file()}

    def test_each_base_has_its_files(self) -> None:
        self.write(self.packed)
        for world, files in WORLDS.items():
            self.assertEqual(self.unpack(world), files)

    def test_one_base_alone_has_its_files(self) -> None:
        world, files = next(iter(WORLDS.items()))
        self.write(archives(KIT, {world: files}))
        self.assertEqual(self.unpack(world), files)

    def test_packs_the_same_bytes_again(self) -> None:
        self.assertEqual(archives(KIT, WORLDS), self.packed)

    def test_what_is_not_shipped_is_not_there(self) -> None:
        self.write(self.packed)
        self.assertIsNone(self.unpack("c" * 16))
        self.write([])
        self.assertIsNone(self.unpack("a" * 16))
        for data in (b"", b"\x7fELF", bytes(4096)):
            self.program.write_bytes(data)
            self.assertIsNone(self.unpack("a" * 16))

    def test_refuses_the_bases_of_another_kit(self) -> None:
        self.write(self.packed)
        with self.assertRaisesRegex(Unusable, "another version"):
            self.unpack("a" * 16, "python-0000000000000000")

    def test_refuses_a_damaged_base(self) -> None:
        data = self.write(self.packed)
        for _, packed in (self.packed[0], self.packed[-1]):
            spoiled = bytearray(data)
            spoiled[data.index(packed) + len(packed) // 2] ^= 1
            self.program.write_bytes(spoiled)
            with self.assertRaisesRegex(Unusable, "damaged"):
                self.unpack("a" * 16)
        for spoiled in (data.replace(b'"bytes"', b"'bytes'"), data[-80:]):
            self.program.write_bytes(spoiled)
            with self.assertRaisesRegex(Unusable, "damaged"):
                self.unpack("a" * 16)

    def test_a_build_without_a_base_says_what_it_needs_and_why(self) -> None:
        """And keeps nothing of a base that is damaged, nor remembers that there is none."""
        bases = self.top / "bases" / KIT
        bases.mkdir(parents=True)
        command = [
            *(sys.executable, "-I", "-B", SDK / "build.py", "--json", "--without-componentize-py"),
            *("--entry", REPOSITORY / "guest-examples/python/csv-stats/tool.py", "--out", self.top / "out.wasm", "--wit", REPOSITORY / "wit"),
            *("--bases", bases, "--resume", self.program),
        ]
        for kits, says in (([], []), ([("kits/python-0/a.tar.xz", b"")], ["it is of another version"])):
            self.write(kits)
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done)
            reply = json.loads(done.stdout)
            self.assertEqual(reply["kind"], "componentize-py", reply)
            first, *others = [it["text"] for it in reply["errors"]]
            self.assertEqual(first, "componentize-py is not installed for this Python")
            self.assertEqual(len(others), len(says))
            for other, part in zip(others, says):
                self.assertIn(part, other)
            self.assertEqual([*bases.iterdir()], [])


if __name__ == "__main__":
    unittest.main()
