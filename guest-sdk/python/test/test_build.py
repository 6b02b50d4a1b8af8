"""What build.py refuses, and how it says so."""

import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from support import FIXTURES, SDK, TOP, build

sys.path.insert(0, str(SDK))
from builder.packages import is_of_the_index  # noqa: E402


class Refusals(unittest.TestCase):
    def refused(self, entry: Path, place: str | None, message: str, exit_code: int = 1) -> None:
        out = TOP / "refused.wasm"
        reply = build(entry, out)
        self.assertFalse(reply["ok"], reply)
        [error] = reply["errors"]
        at = ":".join(str(it) for it in (error["file"], error["line"]) if it is not None)
        self.assertEqual((at or None, reply["exit"]), (place, exit_code), reply)
        self.assertEqual(reply["kind"], {1: "source", 2: "environment"}[exit_code])
        self.assertIn(message, error["text"])
        self.assertTrue(error["suggestion"])
        self.assertFalse(out.exists())

    def test_names_a_handler_that_is_none(self) -> None:
        self.refused(FIXTURES / "bad_handlers/tool.py", None, "handlers['Read']: a name has lower-case letters")

    def test_names_a_missing_module_and_its_line(self) -> None:
        self.refused(FIXTURES / "missing_import/tool.py", "tool.py:2", "module `nowhere` was not found")

    def test_refuses_native_code(self) -> None:
        self.refused(FIXTURES / "native/tool.py", None, "lib has native code (fast.cpython-314-wasm32-wasi.so)")

    def test_refuses_a_name_of_the_standard_library(self) -> None:
        entry = FIXTURES / "native/json.py"
        self.refused(entry, str(entry), "every component already has a module `json`")

    def test_refuses_a_package_that_is_native(self) -> None:
        with TemporaryDirectory() as dir:
            Path(dir, "tool.py").write_text('handlers = {"a": print}')
            requirements = Path(dir, "requirements.txt")
            requirements.write_text("numpy==2.3.4\n")
            self.refused(Path(dir, "tool.py"), str(requirements), "without native code")

    def test_refuses_requirements_that_are_no_packages(self) -> None:
        with TemporaryDirectory() as dir:
            Path(dir, "tool.py").write_text('handlers = {"a": print}')
            requirements = Path(dir, "requirements.txt")
            requirements.write_text("# all of it\n-r more.txt\n")
            self.refused(Path(dir, "tool.py"), f"{requirements}:2", "is not a package of the index")
            requirements.write_text("-c limits.txt\n", encoding="utf-16")
            self.refused(Path(dir, "tool.py"), f"{requirements}:1", "is not a package of the index")

    def test_tells_packages_of_the_index_from_the_rest(self) -> None:
        others = ["-rmore.txt", "--requirement=a", "-e .", "-f wheels", "--find-links wheels", "./here", "/there", "."]
        others += ["sub/pkg", "sub/a.tar.gz", "file:///b/dir", "a @ file:///b.whl", "a@./b"]
        others += ["--no-binary=a", "--index-url https://a.example/simple", "a; x --no-binary=a", "a --no-binary=a"]
        others += ["a @ https://x.example/a.tar.gz", "https://x.example/a.whl", "git+https://x.example/a"]
        packages = ["", "# -r a", "a", "a.b==1.0", "a[b,c]>=1,<2", "a (==1.0)", "a==1.* ", "a~=1.0rc1+local.1"]
        packages += ["a==1 --hash=sha256:ab", "a==1 \\", "    --hash=sha256:ab \\", "a; python_version > '3.10'"]
        packages += ["requests # mirrored from x.whl", "# owner @./team"]
        for expected, lines in [(False, others), (True, packages)]:
            for line in lines:
                self.assertEqual(is_of_the_index(line), expected, line)

    def test_refuses_links_that_lead_out(self) -> None:
        with TemporaryDirectory() as dir, TemporaryDirectory() as outside:
            Path(dir, "tool.py").write_text('handlers = {"a": print}')
            package = Path(dir, "package")
            package.mkdir()
            Path(package, "__init__.py").write_text("")
            Path(outside, "key.txt").write_text("secret")
            Path(package, "keys").symlink_to(outside)
            self.refused(Path(dir, "tool.py"), str(package / "keys"), "leads out")


if __name__ == "__main__":
    unittest.main()
