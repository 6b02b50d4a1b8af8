"""What build.py refuses, and how it says so."""

import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from support import FIXTURES, SDK, TOP, build

sys.path.insert(0, str(SDK))
from builder.distribution import Distribution  # noqa: E402
from builder.failure import BuildError, Note  # noqa: E402
from builder.newer import refuse_older_majors  # noqa: E402
from builder.packages import once  # noqa: E402
from builder.requirements import Requirement, as_text, read_requirements, requirement_of  # noqa: E402

# Modules of the builder, of pip, and of the library that they use.
SHADOWS = ["componentize_py", "pip", "builder", "json", "tempfile", "subprocess", "site", "sitecustomize", "usercustomize"]

BACKEND = """
open({canary!r}, "w").close()
def get_requires_for_build_wheel(config_settings=None): return []
def build_wheel(folder, config_settings=None, metadata_directory=None): raise SystemExit(1)
"""


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

    def test_refuses_packages_that_are_native_and_names_what_replaces_them(self) -> None:
        with TemporaryDirectory() as dir:
            Path(dir, "tool.py").write_text('handlers = {"a": print}')
            requirements = Path(dir, "requirements.txt")
            requirements.write_text("six\nnumpy==2.3.4\n")
            self.refused(Path(dir, "tool.py"), f"{requirements}:2", "numpy is native code")
            requirements.write_text("six\njsonschema==4.25.1\n")
            self.refused(Path(dir, "tool.py"), f"{requirements}:2", "jsonschema 4.25.1 needs rpds-py ")
            requirements.write_text("no-such-package-of-any-index\n")
            self.refused(Path(dir, "tool.py"), f"{requirements}:1", "the index has no package `no-such-package")
            requirements.write_text("six==1.16.0\nsix==1.17.0\n")
            self.refused(Path(dir, "tool.py"), f"{requirements}:2", "cannot be installed together")

    def test_takes_packages_without_the_native_part_that_makes_them_faster(self) -> None:
        with TemporaryDirectory() as dir:
            Path(dir, "tool.py").write_text('import yaml\nhandlers = {"a": print}')
            Path(dir, "requirements.txt").write_text("PyYAML==6.0.3\n")
            reply = build(Path(dir, "tool.py"), TOP / "accepted.wasm", "--check")
            self.assertTrue(reply["ok"], reply)
            self.assertEqual([it["text"].split(",")[0] for it in reply["warnings"]], [
                "pyyaml 6.0.3 is used without its native part"
            ])
            [folder] = (TOP / "work").glob("packages-*/yaml")
            self.assertTrue((folder / "loader.py").is_file())
            self.assertEqual(list(folder.rglob("*.so")), [])
            notes = [Note("without its native part")]
            self.assertEqual([once(folder.parent, notes) for _ in range(2)], [notes, []])

    def test_never_takes_an_older_major_version_unseen(self) -> None:
        log = "Skipping link: No sources permitted for a-b: https://x.example/a_b-2.0.tar.gz (from x)\n"
        log += "  Skipping link: none of the wheel's tags (cp39) are compatible: https://x.example/c-1.9-cp39-cp39-any.whl#sha256=0\n"
        installed = {
            "a-b": Distribution("a-b", "1.5", ("c>=1",), True, ()),
            "c": Distribution("c", "1.0", (), True, ()),
        }
        with self.assertRaises(BuildError) as raised:
            refuse_older_majors(log, installed, [Requirement(3, "a.b")], "requirements.txt")
        self.assertIn("a-b 2.0 has no wheel for Python 3.14, and 1.5 is an older major version", str(raised.exception))
        self.assertEqual(raised.exception.line, 3)
        # Where the author says so, and for a minor version.
        refuse_older_majors(log, installed, [Requirement(3, "a.b<2")], "requirements.txt")

    def test_refuses_requirements_that_are_no_packages(self) -> None:
        with TemporaryDirectory() as dir:
            Path(dir, "tool.py").write_text('handlers = {"a": print}')
            requirements = Path(dir, "requirements.txt")
            for text, place, message in [
                ("# all of it\n-r more.txt\n", ":2", "is not a package of the index"),
                ("six==1.17.0 \\\n  -r more.txt\n", ":1", "is not a package of the index"),
                ("six==1.17.0\n\nsix \\\n", ":3", "ends within a line"),
                ("# \u00e9\n\uff53ix\n", ":2", "is not a package of the index"),
                ("# -*- coding: latin-1 -*-\nsix\n", ":1", "declares the encoding `latin-1`"),
                ("six\n" * 300_000, "", "is larger than"),
            ]:
                requirements.write_text(text, encoding="utf-8")
                self.refused(Path(dir, "tool.py"), f"{requirements}{place}", message)
            requirements.write_text("-c limits.txt\n", encoding="utf-16")
            self.refused(Path(dir, "tool.py"), f"{requirements}:1", "is not a package of the index")
            requirements.write_bytes(b"six\xff\n")
            self.refused(Path(dir, "tool.py"), str(requirements), "is not UTF-8")

    def test_tells_packages_of_the_index_from_the_rest(self) -> None:
        others = ["-rmore.txt", "--requirement=a", "-e .", "-f wheels", "--find-links wheels", "./here", "/there", "."]
        others += ["sub/pkg", "sub/a.tar.gz", "file:///b/dir", "a @ file:///b.whl", "a@./b", "evil.zip", "a-1.whl", "b.tar.gz"]
        others += ["--no-binary=a", "--index-url https://a.example/simple", "a; x --no-binary=a", "a --no-binary=a"]
        others += ["a @ https://x.example/a.tar.gz", "https://x.example/a.whl", "git+https://x.example/a"]
        others += ["a\u2028b", "a\x0c-e .", "${HOME}", "a; ${X}", "a; x @ file:///b", "; x", "--hash=sha256:ab", "a;"]
        others += ["a; x\x0cevil.zip", "a --hash=sha256:ab\u0660", "a --hash=sha256:abx", "a --config-settings=x"]
        for line in others:
            self.assertIsNone(requirement_of(line), line)
        packages = ["a", "a.b==1.0", "a[b,c]>=1,<2", "a (==1.0)", "a==1.*", "a~=1.0rc1+local.1"]
        packages += ["a==1 --hash=sha256:ab --hash=sha512:cd", "a ; python_version > '3.10'"]
        packages += ["a[b]==1 ; sys_platform == 'wasi' and extra == \"x\" --hash=sha256:ab"]
        for line in packages:
            self.assertEqual(requirement_of(f"  {line} "), line)
        self.assertEqual(requirement_of(""), "")

    def test_pip_reads_what_was_read_of_the_file_line_by_line(self) -> None:
        text = "# owner @./team: \u00e4\n\na==1 \\\n    --hash=sha256:ab \\\n  --hash=sha256:cd # mirrored\nb # -r a\n"
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            with TemporaryDirectory() as dir:
                file = Path(dir, "requirements.txt")
                file.write_text(text, encoding=encoding)
                written = as_text(read_requirements(file))
                self.assertEqual(written, "\n\na==1 --hash=sha256:ab --hash=sha256:cd\n\n\nb\n")

    def test_no_encoding_hides_a_requirement_from_the_check(self) -> None:
        with TemporaryDirectory() as dir:
            canary = Path(dir, "canary")
            folder = Path(dir, "lib")
            folder.mkdir()
            project = '[build-system]\nrequires = []\nbuild-backend = "evil"\nbackend-path = ["."]\n'
            Path(folder, "pyproject.toml").write_text(project + '[project]\nname = "evil"\nversion = "1"\n')
            Path(folder, "evil.py").write_text(BACKEND.format(canary=str(canary)))
            Path(dir, "tool.py").write_text('handlers = {"a": print}')
            requirements = Path(dir, "requirements.txt")
            # In UTF-7, each has a line break and the path of the folder.
            for coding in ("# -*- coding: utf-7 -*-\n", "# vim: set fileencoding=UTF-7 :\n", "#\n#coding=utf_7\n"):
                requirements.write_text(f"{coding}six==1.17.0 # +AAo-{folder}\n")
                reply = build(Path(dir, "tool.py"), TOP / "refused.wasm", "--check")
                self.assertFalse(reply["ok"], reply)
                self.assertIn("declares the encoding", reply["errors"][0]["text"])
                with self.assertRaises(BuildError):
                    read_requirements(requirements)
            self.assertFalse(canary.exists())
            # pip would fail to read this file as it is: it is given another one.
            text = "# coding: ascii\n# \u00e4\nno-such-package-of-any-index; python_version < '3'\n"
            requirements.write_text(text, encoding="utf-8")
            reply = build(Path(dir, "tool.py"), TOP / "accepted.wasm", "--check")
            self.assertTrue(reply["ok"], reply)

    def test_no_file_where_a_build_is_started_or_beside_the_tool_runs(self) -> None:
        with TemporaryDirectory() as dir:
            canary = Path(dir, "canary")
            for name in SHADOWS:
                Path(dir, f"{name}.py").write_text(f"open({str(canary)!r}, 'a').write({name!r})\n")
            Path(dir, "setup.cfg").write_text(f"[install]\nprefix = {dir}\n")
            Path(dir, "evil.pth").write_text(f"import os; open({str(canary)!r}, 'w')\n")
            Path(dir, "tool.py").write_text('handlers = {"Not a name": print}')
            Path(dir, "requirements.txt").write_text("no-such-package-of-any-index; python_version < '3'\n")
            # componentize-py runs the tool, and only then is its name refused.
            reply = build(Path(dir, "tool.py"), TOP / "refused.wasm", cwd=Path(dir))
            self.assertIn("a name has lower-case letters", reply["errors"][0]["text"])
            self.assertFalse(canary.exists(), canary.exists() and canary.read_text())

    def test_refuses_settings_of_componentize_py(self) -> None:
        with TemporaryDirectory() as dir:
            Path(dir, "tool.py").write_text('handlers = {"a": print}')
            package = Path(dir, "package")
            package.mkdir()
            Path(package, "__init__.py").write_text("")
            settings = Path(package, "componentize-py.toml")
            settings.write_text('wit_directory = "/etc"\n')
            self.refused(Path(dir, "tool.py"), str(settings), "does not use componentize-py.toml")

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
