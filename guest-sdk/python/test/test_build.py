"""What build.py refuses, and how it says so."""

import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from support import FIXTURES, SDK, TOP, build

sys.path.insert(0, str(SDK))
from builder.packages import names_a_file  # noqa: E402


class Refusals(unittest.TestCase):
    def refused(self, entry: Path, place: str | None, message: str, exit_code: int = 1) -> None:
        out = TOP / "refused.wasm"
        said = build(entry, out)
        self.assertFalse(said["ok"], said)
        [error] = said["errors"]
        at = ":".join(str(it) for it in (error["file"], error["line"]) if it is not None)
        self.assertEqual((at or None, said["exit"]), (place, exit_code), said)
        self.assertEqual(said["kind"], {1: "source", 2: "environment"}[exit_code])
        self.assertIn(message, error["text"])
        self.assertTrue(error["suggestion"])
        self.assertFalse(out.exists())

    def test_names_a_handler_that_is_none(self) -> None:
        self.refused(FIXTURES / "bad_handlers/tool.py", None, "handlers['Read']: a name has lower-case letters")

    def test_names_a_missing_module_and_its_line(self) -> None:
        self.refused(FIXTURES / "missing_import/tool.py", "tool.py:2", "there is no module `nowhere`")

    def test_refuses_native_code(self) -> None:
        self.refused(FIXTURES / "native/tool.py", None, "lib has native code (fast.cpython-314-wasm32-wasi.so)")

    def test_refuses_a_name_of_the_standard_library(self) -> None:
        entry = FIXTURES / "native/json.py"
        self.refused(entry, str(entry), "a module named `json` is in every component already")

    def test_refuses_a_package_that_is_native(self) -> None:
        with TemporaryDirectory() as dir:
            Path(dir, "tool.py").write_text('handlers = {"a": print}')
            requirements = Path(dir, "requirements.txt")
            requirements.write_text("numpy==2.3.4\n")
            self.refused(Path(dir, "tool.py"), str(requirements), "without native code")

    def test_refuses_requirements_that_are_files(self) -> None:
        with TemporaryDirectory() as dir:
            Path(dir, "tool.py").write_text('handlers = {"a": print}')
            requirements = Path(dir, "requirements.txt")
            requirements.write_text("# all of it\n-r more.txt\n")
            self.refused(Path(dir, "tool.py"), f"{requirements}:2", "names a file")
            requirements.write_text("-c limits.txt\n", encoding="utf-16")
            self.refused(Path(dir, "tool.py"), f"{requirements}:1", "names a file")

    def test_tells_files_from_packages(self) -> None:
        files = ["-rmore.txt", "--requirement=a", "-e .", "-f wheels", "--find-links wheels", "./here", "/there", "."]
        files += ["sub/pkg", "sub/a.tar.gz", "file:///b/dir", "a @ file:///b.whl", "a@./b", "a.whl ; python_version>'3'"]
        files += ["wheels/a.whl --hash=sha256:ab", "a.whl # x"]
        packages = ["", "# -r a", "a", "a.b==1.0", "a[b]>=1,<2", "a==1 --hash=sha256:ab", "a==1 \\", "    --hash=sha256:ab"]
        packages += ["requests # mirrored from x.whl", "# owner @./team", "--index-url https://a.example/simple"]
        packages += ["a @ https://x.example/a-1-py3-none-any.whl", "https://x.example/a.whl", "a; python_version > '3.10'"]
        for expected, lines in [(True, files), (False, packages)]:
            for line in lines:
                self.assertEqual(names_a_file(line), expected, line)


if __name__ == "__main__":
    unittest.main()
