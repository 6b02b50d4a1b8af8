"""Writes a program as one module."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from builder.merge.binary import NotMergeable, listed, name, number, signed, with_header
from builder.merge.code import Names, Piece
from builder.merge.module import END, FUNCREF, FUNCTION_NAMES, Kind, SectionId
from builder.merge.resume import Resume
from builder.merge.program import Function, Global, HostFunction, Memory, Program, Thing

_I32_CONST = 0x41


class Emitted:
    """The module of a program."""

    def __init__(self, program: Program, exports: dict[str, Thing]) -> None:
        self._program = program
        self._exports = exports
        exported = exports.values()
        live = program.live(thing for thing in exported if isinstance(thing, Function | HostFunction))
        # In the order of the modules, as the functions of one module call each other.
        self.imports = [it for it in _functions_of(program) if it in live and isinstance(it, HostFunction)]
        self._functions = [it for it in _functions_of(program) if it in live and isinstance(it, Function)]
        self._functions += [it for it in live if isinstance(it, Resume)]
        numbered: list[Function | HostFunction] = [*self.imports, *self._functions]
        self._number_of = {function: at for at, function in enumerate(numbered)}
        for thing in exported:
            if isinstance(thing, Global):
                thing.is_set = True  # Others may set it, and it needs a number.
        used = dict.fromkeys(it for instance in program.instances for it in instance.globals)
        self._globals = [it for it in used if it.is_set]
        self._number_of_global = {it: at for at, it in enumerate(self._globals)}
        self._types: dict[bytes, int] = {}

    def module(self, header: memoryview) -> bytes:
        """Returns the module. The import of number 3 is named "3"."""
        imports = [
            name("") + name(str(at)) + bytes([Kind.FUNC]) + number(self._type(function.type))
            for at, function in enumerate(self.imports)
        ]
        functions = [number(self._type(function.type)) for function in self._functions]
        bodies = [self._body(function) for function in self._functions]
        main = self._program.main
        sections = [
            (SectionId.TYPE, listed(self._types)),
            (SectionId.IMPORT, listed(imports)),
            (SectionId.FUNCTION, listed(functions)),
            (SectionId.TABLE, listed([_table(self._program.table_size)])),
            (SectionId.MEMORY, listed(main.memories)),
            (SectionId.GLOBAL, listed(it.type + it.value + bytes([END]) for it in self._globals)),
            (SectionId.EXPORT, listed(self._export(name, thing) for name, thing in self._exports.items())),
            (SectionId.ELEMENT, listed(self._elements())),
            (SectionId.CODE, listed(number(len(body)) + body for body in bodies)),
            *([(SectionId.DATA, main.data)] if main.data else []),
            (SectionId.CUSTOM, self._names()),
        ]
        return with_header(header, sections)

    def _type(self, type: bytes) -> int:
        return self._types.setdefault(type, len(self._types))

    def _body(self, function: Function) -> bytes:
        parts = []
        for piece, thing in function.pieces or ():
            parts += [piece.before, self._instruction(piece, thing), piece.after]
        return b"".join([*parts, function.last])

    def _instruction(self, piece: Piece, thing: Any) -> bytes:
        match piece.names:
            case Names.FUNCTION:
                return piece.instruction + number(self._number_of[thing])
            case Names.TYPE:
                return piece.instruction + number(self._type(thing))
            case Names.GLOBAL if not thing.is_set:
                # Its value never changes.
                return bytes(thing.value)
            case Names.GLOBAL:
                return piece.instruction + number(self._number_of_global[thing])

    def _export(self, exported: str, thing: Thing) -> bytes:
        if isinstance(thing, Function | HostFunction):
            return name(exported) + bytes([Kind.FUNC]) + number(self._number_of[thing])
        if isinstance(thing, Global):
            return name(exported) + bytes([Kind.GLOBAL]) + number(self._number_of_global[thing])
        if isinstance(thing, Memory):
            return name(exported) + bytes([Kind.MEMORY]) + number(0)
        raise NotMergeable("the table is used outside the modules")

    def _elements(self) -> Iterable[bytes]:
        """Returns a segment for each run of slots; wasmtime prepares those with a constant offset."""
        slots = sorted(self._program.slots.items())
        for _, run in groupby(enumerate(slots), lambda it: it[1][0] - it[0]):
            filled = [slot for _, slot in run]
            offset = bytes([_I32_CONST]) + signed(filled[0][0]) + bytes([END])
            yield b"\0" + offset + listed(number(self._number_of[function]) for _, function in filled)

    def _names(self) -> bytes:
        named = [number(at) + name(it.name) for it, at in self._number_of.items() if it.name is not None]
        part = listed(named)
        return name("name") + bytes([FUNCTION_NAMES]) + number(len(part)) + part


def _functions_of(program: Program) -> Iterable[Function | HostFunction]:
    return dict.fromkeys(it for instance in program.instances for it in instance.functions)


def _table(size: int) -> bytes:
    # No instruction changes the table, so that it need not grow.
    return FUNCREF + b"\1" + number(size) + number(size)
