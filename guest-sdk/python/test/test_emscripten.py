"""Libraries of wheels for Pyodide, as a component can have them."""

import sys
import unittest

from support import SDK

sys.path.insert(0, str(SDK))
from builder.emscripten import _INSTEAD, _without_exceptions, adapted  # noqa: E402
from builder.merge.binary import NotMergeable, listed, name, number  # noqa: E402

TYPE = b"\x60\x01\x7f\x01\x7f"


def library(*functions: str, body: bytes = b"\x00\x20\x00\x0b") -> bytes:
    """Returns a module that imports functions and the tag of exceptions, and has one function."""
    imports = [name("env") + name(it) + b"\x00\x00" for it in functions]
    imports += [name("env") + name("__cpp_exception") + b"\x04\x00\x00", name("env") + name("memory") + b"\x02\x00\x00"]
    sections = [(1, listed([TYPE])), (2, listed(imports)), (3, b"\x01\x00"), (10, listed([number(len(body)) + body]))]
    return b"\0asm\x01\0\0\0" + b"".join(bytes([id]) + number(len(it)) + it for id, it in sections)


class Adapted(unittest.TestCase):
    def test_what_catches_is_left_out_and_the_rest_stays(self) -> None:
        for body, expected in [
            # try, catch_all with rethrow.
            ("00 0640 4100 1a 19 0900 0b 0b", "00 0240 4100 1a 0b 0b"),
            # A block and a try within what catches; a branch table after it.
            ("00 0640 01 19 0240 0640 19 0b 0b 4101 1a 0b 4100 0e01 00 00 0b", "00 0240 01 0b 4100 0e01 00 00 0b"),
            # delegate ends a try.
            ("00 0640 0640 01 1800 19 4107 1a 0b 0b", "00 0240 0240 01 0b 0b 0b"),
            # Locals, if and else.
            ("01017f 2000 0440 0640 01 0700 1a 0b 05 01 0b 0b", "01017f 2000 0440 0240 01 0b 05 01 0b 0b"),
            ("00 0800 0b", "00 00 0b"),
        ]:
            with self.subTest(body):
                self.assertEqual(_without_exceptions(bytes.fromhex(body)).hex(), bytes.fromhex(expected).hex())

    def test_functions_that_differ_come_from_a_second_library(self) -> None:
        module, stand_in = adapted(library("malloc", "PyObject_Call", "sysconf", "pthread_mutex_lock"))
        self.assertIn(name("env") + name("malloc"), module)
        self.assertNotIn(b"__cpp_exception", module)
        for it in ("sysconf", "pthread_mutex_lock"):
            self.assertNotIn(name(it), module)
            self.assertIn(name(f"toolhost_{it}"), module)
            self.assertIn(name(f"toolhost_{it}") + b"\x00", stand_in)
            self.assertIn(_INSTEAD[it] + b"\x0b", stand_in)

    def test_a_function_whose_meaning_is_not_known_is_refused(self) -> None:
        for function in ("stat", "emscripten_sleep"):
            with self.assertRaisesRegex(NotMergeable, f"it needs `{function}`"):
                adapted(library(function))
        with self.assertRaisesRegex(NotMergeable, "instruction 0x1f"):
            adapted(library(body=b"\x00\x1f\x40\x00\x0b\x0b"))


if __name__ == "__main__":
    unittest.main()
