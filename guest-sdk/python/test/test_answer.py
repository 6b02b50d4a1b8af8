"""What a handler returns and raises, without a component."""

import contextlib
import io
import sys
import traceback
import unittest
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "sdk"))

from toolhost import ToolError
from toolhost._answer import to_json
from toolhost._failure import _format, failure_of, print_traceback


class Answers(unittest.TestCase):
    def test_writes_json(self) -> None:
        self.assertEqual(to_json({"a": [1, 2.5, None, True, "é"], "b": ()}), '{"a":[1,2.5,null,true,"é"],"b":[]}')

    def test_names_what_is_no_json_and_where(self) -> None:
        circle: list[object] = []
        circle.append(circle)
        for value, expected in [
            (b"x", "result is of type bytes (decode it, or use base64)"),
            ({"a": [1, {"b": {1}}]}, "result['a'][1]['b'] is of type set (use sorted())"),
            ({"when": datetime(2026, 1, 2)}, "result['when'] is of type datetime (use .isoformat())"),
            ([float("nan")], "result[0] is nan, which is not a JSON number"),
            ({(1, 2): 3}, "result has a key of type tuple: (1, 2)"),
            (circle, "result[0] contains itself"),
            (["\ud800"], "result[0] is not Unicode text: '\\ud800'"),
            (object, "result is of type type"),
        ]:
            with self.subTest(expected), self.assertRaises(ToolError) as raised:
                to_json(value)
            self.assertEqual(str(raised.exception), f"the handler's result is not JSON: {expected}")


class Failures(unittest.TestCase):
    def test_says_what_an_exception_means(self) -> None:
        class NotThere(ToolError):
            code = "NOT_THERE"

        for error, expected in [
            (ValueError("x"), ("x", "ValueError", None)),
            (ValueError(), ("ValueError", "ValueError", None)),
            (KeyError("k"), ("no such key: 'k'", "KeyError", None)),
            (ToolError("m", code="C", name="N"), ("m", "N", "C")),
            (NotThere("m"), ("m", "NotThere", "NOT_THERE")),
            (FileNotFoundError(2, "No such file", "a.txt"), ("No such file: a.txt", "FileNotFoundError", "ENOENT")),
            (PermissionError(1, "Operation not permitted", "../x"), ("Operation not permitted: ../x", "PermissionError", None)),
            (SystemExit(3), ("the handler ended the program (sys.exit) with 3", "SystemExit", None)),
            (SystemExit("why"), ("the handler ended the program (sys.exit): why", "SystemExit", None)),
            (KeyboardInterrupt(), ("the handler raised KeyboardInterrupt", "KeyboardInterrupt", None)),
            (ValueError("\udcff"), ("\\udcff", "ValueError", None)),
        ]:
            with self.subTest(error=error):
                failure = failure_of(error)
                self.assertEqual((failure.message, failure.name, failure.code), expected)

    def test_says_what_to_do_about_a_file_that_is_missing(self) -> None:
        failure = failure_of(FileNotFoundError(2, "No such file", "a.txt"))
        self.assertEqual(failure.suggestion, "see which files there are; paths are relative to the working directory")

    def test_takes_the_suggestion_of_an_error_inside(self) -> None:
        outer = ValueError("outer")
        outer.__cause__ = ToolError("inner", suggestion="do this")
        self.assertEqual(failure_of(outer).suggestion, "do this")

    def test_prints_the_traceback_with_the_authors_paths(self) -> None:
        code = compile("def f():\n    raise ValueError('no')\n", "/0/pkg/tool.py", "exec")
        scope: dict[str, Any] = {}
        exec(code, scope)
        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            try:
                try:
                    scope["f"]()
                except ValueError as error:
                    raise KeyError("k") from error
            except KeyError as error:
                print_traceback(error, "/sdk/", "/0/")
        self.assertIn('File "pkg/tool.py", line 2, in f', stderr.getvalue())
        self.assertIn("ValueError: no", stderr.getvalue())
        self.assertNotIn("/0/", stderr.getvalue())


class Tracebacks(unittest.TestCase):
    def test_are_formatted_without_an_access_to_files(self) -> None:
        opened: list[str] = []
        try:
            with open("/nowhere/secret.txt"):
                pass
        except OSError as error:
            printed = traceback.TracebackException.from_exception(error)
            expected = "".join(printed.format())
            # A hook stays: this one looks only while the list is watched.
            watched = [opened]
            sys.addaudithook(lambda event, args: watched and event == "open" and watched[0].append(args[0]))
            self.assertEqual(_format(printed), expected)
            watched.clear()
        self.assertEqual(opened, [])


if __name__ == "__main__":
    unittest.main()
