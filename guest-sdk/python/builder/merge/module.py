"""Reads a module."""

from dataclasses import dataclass, field
from enum import IntEnum

from builder.merge.binary import NotMergeable, Reader, sections_of


class Kind(IntEnum):
    """What a module imports and exports."""

    FUNC = 0
    TABLE = 1
    MEMORY = 2
    GLOBAL = 3


class SectionId(IntEnum):
    CUSTOM = 0
    TYPE = 1
    IMPORT = 2
    FUNCTION = 3
    TABLE = 4
    MEMORY = 5
    GLOBAL = 6
    EXPORT = 7
    START = 8
    ELEMENT = 9
    CODE = 10
    DATA = 11
    DATA_COUNT = 12


FUNCREF = b"\x70"
END = 0x0B

# The part of the section "name" with the names of functions.
FUNCTION_NAMES = 1


@dataclass(frozen=True)
class Import:
    module: str
    name: str
    kind: Kind
    # The type of a function or a global, in the binary format.
    type: bytes


@dataclass(frozen=True)
class GlobalDefinition:
    type: bytes
    value: memoryview


@dataclass(frozen=True)
class Elements:
    """A part of the table."""

    offset: memoryview
    functions: list[int]


@dataclass
class Module:
    """One module. Numbers of functions and globals count imports first."""

    types: list[bytes] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    # The types of the functions that it defines.
    functions: list[bytes] = field(default_factory=list)
    tables: list[bytes] = field(default_factory=list)
    memories: list[bytes] = field(default_factory=list)
    globals: list[GlobalDefinition] = field(default_factory=list)
    exports: dict[str, tuple[Kind, int]] = field(default_factory=dict)
    elements: list[Elements] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    # The body of the section.
    data: bytes | None = None
    # By the number of the function.
    names: dict[int, str] = field(default_factory=dict)
    has_start: bool = False

    @staticmethod
    def read(data: memoryview) -> "Module":
        module = Module()
        for section in sections_of(data):
            module._add(section.id, Reader(section.body))
        if len(module.functions) != len(module.bodies):
            raise NotMergeable("a module has functions without a body")
        return module

    def _add(self, id: int, reader: Reader) -> None:
        match id:
            case SectionId.CUSTOM:
                if reader.name() == "name":
                    self.names = _function_names(reader)
            case SectionId.TYPE:
                self.types = reader.list(lambda: _function_type(reader))
            case SectionId.IMPORT:
                self.imports = reader.list(lambda: self._import(reader))
            case SectionId.FUNCTION:
                self.functions = reader.list(lambda: self.types[reader.number()])
            case SectionId.TABLE:
                self.tables = reader.list(lambda: _table_type(reader))
            case SectionId.MEMORY:
                self.memories = reader.list(lambda: _limits(reader))
            case SectionId.GLOBAL:
                self.globals = reader.list(lambda: GlobalDefinition(bytes(reader.take(2)), expression(reader)))
            case SectionId.EXPORT:
                exports = reader.list(lambda: (reader.name(), (Kind(reader.byte()), reader.number())))
                self.exports = dict(exports)
            case SectionId.START:
                self.has_start = True
            case SectionId.ELEMENT:
                self.elements = reader.list(lambda: _elements(reader))
            case SectionId.CODE:
                self.bodies = reader.list(lambda: bytes(reader.take(reader.number())))
            case SectionId.DATA:
                self.data = _checked_data(reader)
            case SectionId.DATA_COUNT:
                pass
            case _:
                raise NotMergeable(f"a module has a section of the kind {id}")

    def _import(self, reader: Reader) -> Import:
        module, name, kind = reader.name(), reader.name(), reader.byte()
        match kind:
            case Kind.FUNC:
                type = self.types[reader.number()]
            case Kind.TABLE:
                type = _table_type(reader)
            case Kind.MEMORY:
                type = _limits(reader)
            case Kind.GLOBAL:
                type = bytes(reader.take(2))
            case _:
                raise NotMergeable(f"a module imports something of the kind {kind}")
        return Import(module, name, Kind(kind), type)


def _function_type(reader: Reader) -> bytes:
    start = reader.at
    reader.expect(b"\x60", "a type that is not that of a function")
    for _ in ("parameters", "results"):
        reader.take(reader.number())
    return reader.since(start)


def _table_type(reader: Reader) -> bytes:
    start = reader.at
    reader.expect(FUNCREF, "a table of other things than functions")
    _limits(reader)
    return reader.since(start)


def _limits(reader: Reader) -> bytes:
    start = reader.at
    flags = reader.byte()
    if flags > 1:
        raise NotMergeable("it has a memory or a table that is shared or has 64 bits")
    for _ in range(1 + flags):
        reader.number()
    return reader.since(start)


def expression(reader: Reader) -> memoryview:
    """Reads a constant expression, without its end."""
    start = reader.at
    while (instruction := reader.byte()) != END:
        match instruction:
            case 0x23:
                reader.number()
            case 0x41:
                reader.signed()
            case 0x42:
                while reader.byte() >= 0x80:
                    pass
            case 0x43:
                reader.take(4)
            case 0x44:
                reader.take(8)
            case 0x6A | 0x6B | 0x6C:
                pass
            case _:
                raise NotMergeable(f"a constant expression has the instruction {instruction:#x}")
    return reader.data[start : reader.at - 1]


def _elements(reader: Reader) -> Elements:
    what = "elements that are not a part of the first table"
    names_table = reader.byte()
    if names_table not in (0, 2):
        raise NotMergeable(f"it has {what}")
    if names_table:
        reader.expect(b"\0", what)
    offset = expression(reader)
    if names_table:
        reader.expect(b"\0", "elements that are not functions")
    return Elements(offset, reader.list(reader.number))


def _checked_data(reader: Reader) -> bytes:
    for _ in range(reader.number()):
        # An active segment of the first memory, at a constant address.
        reader.expect(b"\0\x41", "data without a constant address")
        reader.signed()
        reader.expect(bytes([END]), "data without a constant address")
        reader.take(reader.number())
    return bytes(reader.data)


def _function_names(reader: Reader) -> dict[int, str]:
    while not reader.is_done:
        id, part = reader.byte(), Reader(reader.take(reader.number()))
        if id == FUNCTION_NAMES:
            return dict(part.list(lambda: (part.number(), part.name())))
    return {}
