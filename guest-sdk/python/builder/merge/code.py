"""Finds in the bodies of functions what names something else: functions, types and globals."""

import re
from enum import IntEnum
from typing import NamedTuple

from builder.merge.binary import NotMergeable, Reader

_NUMBER = rb"[\x80-\xff]*[\x00-\x7f]"
_ZERO = rb"\x80*\x00"

# Instructions that name nothing outside the function, apart from the first memory. No other pattern
# begins with the same bytes, so that there is one way to match.
_PLAIN = re.compile(
    rb"(?:"
    rb"[\x00\x01\x05\x0b\x0f\x1a\x1b\x45-\xc4]"  # Control, and numbers.
    rb"|[\x02-\x04][\x40\x7c-\x7f]"  # Blocks with at most one result.
    rb"|[\x0c\x0d\x20-\x22\x41\x42]" + _NUMBER +  # Branches, locals, integers.
    rb"|[\x28-\x3e][\x00-\x1f]" + _NUMBER +  # Loads and stores.
    rb"|[\x3f\x40]" + _ZERO +  # The size of the memory.
    rb"|\x43.{4}|\x44.{8}"  # Floats.
    rb"|\xfc(?:[\x00-\x07]|\x0a" + _ZERO + _ZERO + rb"|\x0b" + _ZERO + rb")"  # Conversions, copying and filling.
    rb")*",
    re.DOTALL,
)  # fmt: skip

_NAMING = re.compile(
    rb"(?P<CALL>[\x10\x12])(?P<function>" + _NUMBER + rb")"
    rb"|(?P<CALL_INDIRECT>[\x11\x13])(?P<called>" + _NUMBER + rb")" + _ZERO +
    rb"|(?P<BLOCK>[\x02-\x04])(?![\x40-\x7f])(?P<block>" + _NUMBER + rb")"
    rb"|(?P<GLOBAL>[\x23\x24])(?P<global>" + _NUMBER + rb")"
    rb"|\x0e(?P<branches>" + _NUMBER + rb")"
)  # fmt: skip

# A function that only passes its parameters to the function in one slot of the table.
_FORWARDS = re.compile(
    rb"\x00(?P<locals>(?:\x20[\x00-\x7f])*)"
    rb"\x41(?P<slot>" + _NUMBER + rb")"
    rb"\x11(?P<type>" + _NUMBER + rb")" + _ZERO + rb"\x0b"
)  # fmt: skip

_A_NUMBER = re.compile(_NUMBER)


class Names(IntEnum):
    FUNCTION = 0
    TYPE = 1
    GLOBAL = 2


class Piece(NamedTuple):
    """Bytes of a body, and the instruction after them with what it names."""

    before: bytes
    instruction: bytes
    names: Names
    number: int
    after: bytes = b""


def pieces_of(body: bytes) -> tuple[list[Piece], bytes]:
    """Returns the pieces of a body, and the bytes after the last one."""
    pieces: list[Piece] = []
    reader = Reader(memoryview(body))
    for _ in range(reader.number()):  # The locals: how many, of which type.
        reader.number()
        reader.byte()
    start, at = 0, reader.at
    while True:
        at = _PLAIN.match(body, at).end()  # type: ignore[union-attr]
        if at == len(body):
            return pieces, body[start:]
        found = _NAMING.match(body, at)
        if not found:
            raise NotMergeable(f"a function has the instruction {body[at : at + 2].hex()}")
        if branches := found["branches"]:
            at = found.end()
            for _ in range(_read(branches) + 1):
                at = _A_NUMBER.match(body, at).end()  # type: ignore[union-attr]
            continue
        pieces.append(_piece(body[start:at], found))
        start = at = found.end()


def _piece(before: bytes, found: re.Match[bytes]) -> Piece:
    if called := found["called"]:
        return Piece(before, found["CALL_INDIRECT"], Names.TYPE, _read(called), b"\0")
    if function := found["function"]:
        return Piece(before, found["CALL"], Names.FUNCTION, _read(function))
    if block := found["block"]:
        return Piece(before, found["BLOCK"], Names.TYPE, _read(block))
    return Piece(before, found["GLOBAL"], Names.GLOBAL, _read(found["global"]))


def forwarded_slot(body: bytes, types: list[bytes], type: bytes) -> int | None:
    """Returns the slot of the table whose function has the same effect, where there is one."""
    found = _FORWARDS.fullmatch(body)
    if not found or types[_read(found["type"])] != type:
        return None
    parameters = type[1]
    if found["locals"] != b"".join(bytes([0x20, local]) for local in range(parameters)):
        return None
    return Reader(memoryview(found["slot"])).signed()


def _read(number: bytes) -> int:
    return Reader(memoryview(number)).number()
