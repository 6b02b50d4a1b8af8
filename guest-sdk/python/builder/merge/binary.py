"""Reads and writes what modules and components have in common in their binary format."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

T = TypeVar("T")

# Before the first section.
_HEADER_BYTES = 8


class NotMergeable(Exception):
    """The component has something that `merged` does not know. It works as it is."""


class Section(NamedTuple):
    id: int
    body: memoryview


class Reader:
    """Reads values one after the other."""

    def __init__(self, data: memoryview, at: int = 0) -> None:
        self.data = data
        self.at = at

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.data)

    def byte(self) -> int:
        if self.is_done:
            raise NotMergeable("it ends within a value")
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        value, byte = 0, 0x80
        for shift in range(0, 35, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise NotMergeable("a number in it is too large")

    def signed(self) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value - (1 << shift + 7) if byte & 0x40 else value
        raise NotMergeable("a number in it is too large")

    def take(self, length: int) -> memoryview:
        self.at += length
        if self.at > len(self.data):
            raise NotMergeable("it ends within a value")
        return self.data[self.at - length : self.at]

    def name(self) -> str:
        return bytes(self.take(self.number())).decode()

    def list(self, read: Callable[[], T]) -> list[T]:
        return [read() for _ in range(self.number())]

    def since(self, start: int) -> bytes:
        return bytes(self.data[start : self.at])

    def expect(self, expected: bytes, what: str) -> None:
        if bytes(self.take(len(expected))) != expected:
            raise NotMergeable(f"it has {what}")


def sections_of(data: memoryview) -> list[Section]:
    reader = Reader(data, _HEADER_BYTES)
    sections = []
    while not reader.is_done:
        sections.append(Section(reader.byte(), reader.take(reader.number())))
    return sections


def with_header(original: memoryview, sections: Iterable[tuple[int, bytes]]) -> bytes:
    """Returns a module or a component with the header of another one."""
    parts = [bytes(original[:_HEADER_BYTES])]
    for id, body in sections:
        parts += [bytes([id]), number(len(body)), body]
    return b"".join(parts)


def number(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value: int) -> bytes:
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)


def name(text: str) -> bytes:
    encoded = text.encode()
    return number(len(encoded)) + encoded


def listed(items: Iterable[bytes]) -> bytes:
    parts = list(items)
    return number(len(parts)) + b"".join(parts)
