"""The function with which a build continues the base.

componentize-py's components export `exports#init`, which initializes the interpreter once, in the build. In the base
another function is in its place, which a build calls twice:

1. It runs a program in the interpreter, which imports the tool, and forgets open files.
2. It writes the memory to stdout.

The component of a tool is the base with this memory. There, the function traps.
"""

from typing import Any

from builder.merge.binary import NotMergeable, Reader, signed
from builder.merge.code import Names, Piece
from builder.merge.program import Function, HostFunction, Instance, Program

EXPORT = "exports#init"

_MARK = b"toolhost:resume:"
_STATE_BYTES = 256

# Bytes from the state: what `check-write` and `write` return, and what the function returns: a result without an error.
_RETURNED, _RESULT = 64, 128

_CALL, _IF, _ELSE, _END, _UNREACHABLE = b"\x10", b"\x04\x40", b"\x05", b"\x0b", b"\x00"
_GET, _SET, _LOAD, _STORE, _EQZ, _NE, _SHL = b"\x20\1", b"\x21\1", b"\x28\2\0", b"\x36\2\0", b"\x45", b"\x47", b"\x74"
_MEMORY_SIZE = b"\x3f\0"


class Resume(Function):
    """A function that is written here, and not read from a module."""

    def __init__(self, instance: Instance, type: bytes, parts: list[Any]) -> None:
        super().__init__(instance, type, b"", "resume")
        self.pieces, before = [], b"\1\1\x7f"  # One local.
        for part in parts:
            if isinstance(part, bytes):
                before += part
            else:
                self.pieces.append((Piece(before, _CALL, Names.FUNCTION, 0), part))
                before = b""
        self.last = before

    def follow(self) -> list[Function | HostFunction]:
        return [thing for _, thing in self.pieces or ()]


def resume(program: Program, type: bytes, host: list[HostFunction]) -> Resume:
    """Returns the function. Raises `NotMergeable` if what it calls is missing."""
    if type != b"\x60\1\x7f\1\x7f":
        raise NotMergeable(f"{EXPORT} has another type")
    mark = _address_of_mark(program)
    # The results of host functions are aligned.
    state, program_text = (mark + len(_MARK) + 15) // 16 * 16, mark + len(_MARK) + _STATE_BYTES

    def ours(name: str) -> Function | HostFunction:
        for instance in program.instances:
            if name in instance.module.exports:
                found = instance.export(name)
                if isinstance(found, Function | HostFunction):
                    return program.behind(found)
        raise NotMergeable(f"no module exports {name}")

    def of_host(interface: str, name: str) -> HostFunction:
        for function in host:
            if function.name.startswith(f"{interface}@") and function.name.endswith(f"#{name}"):
                return function
        raise NotMergeable(f"{interface}#{name} is not imported")

    address, returned = _constant(state), _constant(state + _RETURNED)
    parts = [
        *(address, _LOAD, _EQZ, _IF),
        *(ours("PyGILState_Ensure"), _SET),
        *(_constant(program_text), _constant(0), ours("PyRun_SimpleStringFlags"), _IF, _UNREACHABLE, _END),
        *(_GET, ours("PyGILState_Release")),
        *(ours("reset_adapter_state"), ours("__wasilibc_reset_preopens")),
        *(address, _constant(1), _STORE),
        _ELSE,
        *(address, _LOAD, _constant(1), _NE, _IF, _UNREACHABLE, _END),
        *(address, _constant(2), _STORE),
        *(of_host("wasi:cli/stdout", "get-stdout"), _SET),
        *(_GET, returned, of_host("wasi:io/streams", "[method]output-stream.check-write")),
        *(_GET, _constant(0), _MEMORY_SIZE, _constant(16), _SHL, returned),
        of_host("wasi:io/streams", "[method]output-stream.write"),
        _END,
        *(_constant(state + _RESULT), _END),
    ]
    return Resume(program.instances[0], type, parts)


def _constant(value: int) -> bytes:
    return b"\x41" + signed(value)


def _address_of_mark(program: Program) -> int:
    """Finds the object that `toolhost_base.reserve_memory` has made."""
    reader, found = Reader(memoryview(program.main.data or b"\0")), []
    for _ in range(reader.number()):
        reader.take(2)
        offset = reader.signed()
        reader.take(1)
        segment = bytes(reader.take(reader.number()))
        at = segment.find(_MARK)
        while at >= 0:
            found.append(offset + at)
            at = segment.find(_MARK, at + 1)
    if len(found) != 1:
        raise NotMergeable(f"the memory has {len(found)} marks of the base, instead of 1")
    return found[0]
