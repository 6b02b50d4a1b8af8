"""The instances of several modules, with their imports resolved."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from builder.merge.binary import NotMergeable, Reader, signed
from builder.merge.code import Names, Piece, forwarded_slot, pieces_of
from builder.merge.module import GlobalDefinition, Import, Kind, Module

_I32 = 0x7F
_I32_CONST = 0x41
_GLOBAL_GET = 0x23
_GLOBAL_SET = 0x24


@dataclass(eq=False)
class HostFunction:
    """A function from outside the program."""

    # Where it comes from, for the caller.
    source: Any
    type: bytes
    name: str


@dataclass(eq=False)
class Global:
    # The type of the value, and whether it is mutable.
    type: bytes
    # The instruction that gives the initial value.
    value: bytes
    is_set: bool = False


@dataclass(eq=False)
class Function:
    """A function of one instance."""

    instance: "Instance"
    type: bytes
    body: bytes
    name: str | None
    # Set when something leads to it: what is between and in the instructions that name something.
    pieces: list[tuple[Piece, Any]] | None = None
    last: bytes = b""

    def follow(self) -> list["Function | HostFunction"]:
        """Resolves what the body names, and returns the functions that it calls."""
        pieces, self.last = pieces_of(self.body)
        self.pieces = [(piece, self.instance.named(piece)) for piece in pieces]
        for piece, thing in self.pieces:
            if isinstance(thing, Global) and piece.instruction[0] == _GLOBAL_SET:
                thing.is_set = True
        return [thing for _, thing in self.pieces if isinstance(thing, Function | HostFunction)]


class Table:
    """The table of functions."""


class Memory:
    """The memory."""


Thing = Function | HostFunction | Global | Table | Memory


@dataclass(eq=False)
class Instance:
    """One instance of a module."""

    program: "Program"
    module: Module
    functions: list[Function | HostFunction] = field(default_factory=list)
    globals: list[Global] = field(default_factory=list)

    def export(self, name: str) -> Thing:
        if name not in self.module.exports:
            raise NotMergeable(f"a module has no export {name}")
        kind, number = self.module.exports[name]
        match kind:
            case Kind.FUNC:
                return self.functions[number]
            case Kind.GLOBAL:
                return self.globals[number]
            case Kind.TABLE:
                return self.program.table
            case Kind.MEMORY:
                return self.program.memory

    def named(self, piece: Piece) -> Any:
        """Returns what an instruction names."""
        match piece.names:
            case Names.FUNCTION:
                return self.program.behind(self.functions[piece.number])
            case Names.TYPE:
                return self.module.types[piece.number]
            case Names.GLOBAL:
                return self.globals[piece.number]

    def number(self, expression: memoryview) -> int:
        """Evaluates a constant expression of type i32."""
        stack: list[int] = []
        reader = Reader(expression)
        while not reader.is_done:
            instruction = reader.byte()
            match instruction:
                case 0x41:
                    stack.append(reader.signed())
                case 0x23:
                    value = Reader(memoryview(self.globals[reader.number()].value))
                    value.expect(bytes([_I32_CONST]), "an address that is not an integer of 32 bits")
                    stack.append(value.signed())
                case 0x6A | 0x6B if len(stack) > 1:
                    right, left = stack.pop(), stack.pop()
                    stack.append(_wrapped(left + right if instruction == 0x6A else left - right))
                case _:
                    raise NotMergeable(f"an address has the instruction {instruction:#x}")
        if len(stack) != 1:
            raise NotMergeable("an address is not one number")
        return stack[0]


class Program:
    """Instances that share a memory and a table, which the first of them defines."""

    def __init__(self) -> None:
        self.table = Table()
        self.memory = Memory()
        self.instances: list[Instance] = []
        self.slots: dict[int, Function | HostFunction] = {}

    @property
    def main(self) -> Module:
        return self.instances[0].module

    @property
    def table_size(self) -> int:
        return Reader(memoryview(self.main.tables[0]), 2).number()

    def add(self, module: Module, resolve: Callable[[Import], Thing]) -> Instance:
        """Adds an instance, whose imports `resolve` finds."""
        is_main = not self.instances
        if [len(module.tables), len(module.memories)] != [is_main, is_main] or (module.data and not is_main):
            raise NotMergeable("a second module has a memory, a table or data")
        if module.has_start:
            raise NotMergeable("a module has a start function")
        instance = Instance(self, module)
        for wanted in module.imports:
            found = resolve(wanted)
            _check(wanted, found)
            if isinstance(found, Function | HostFunction):
                instance.functions.append(found)
            elif isinstance(found, Global):
                instance.globals.append(found)
        first = len(instance.functions)
        for number, (type, body) in enumerate(zip(module.functions, module.bodies, strict=True), first):
            instance.functions.append(Function(instance, type, body, module.names.get(number)))
        for definition in module.globals:
            instance.globals.append(_global(instance, definition))
        self.instances.append(instance)
        self._fill(instance)
        return instance

    def _fill(self, instance: Instance) -> None:
        for elements in instance.module.elements:
            offset = instance.number(elements.offset)
            if offset < 0 or offset + len(elements.functions) > self.table_size:
                raise NotMergeable("elements are outside the table")
            for slot, number in enumerate(elements.functions, offset):
                self.slots[slot] = instance.functions[number]

    def behind(self, function: Function | HostFunction) -> Function | HostFunction:
        """Returns the function in the table that this one passes its parameters to, or itself."""
        if not isinstance(function, Function):
            return function
        slot = forwarded_slot(function.body, function.instance.module.types, function.type)
        target = self.slots.get(slot) if slot is not None else None
        return target if target and target.type == function.type else function

    def live(self, roots: Iterable[Function | HostFunction]) -> set[Function | HostFunction]:
        """Returns the functions that the table or one of `roots` leads to."""
        found: set[Function | HostFunction] = set()
        next = [*roots, *self.slots.values()]
        while next:
            function = next.pop()
            if function in found:
                continue
            found.add(function)
            if isinstance(function, Function):
                next += function.follow()
        return found


def _check(wanted: Import, found: Thing) -> None:
    kinds = {Kind.FUNC: Function | HostFunction, Kind.GLOBAL: Global, Kind.TABLE: Table, Kind.MEMORY: Memory}
    is_same = isinstance(found, kinds[wanted.kind])
    if is_same and isinstance(found, Function | HostFunction | Global):
        is_same = found.type == wanted.type
    if not is_same:
        raise NotMergeable(f"the import {wanted.module}#{wanted.name} has another type than what it gets")


def _global(instance: Instance, definition: GlobalDefinition) -> Global:
    if definition.type[0] == _I32:
        value = bytes([_I32_CONST]) + signed(instance.number(definition.value))
    elif definition.value[0] == _GLOBAL_GET:
        raise NotMergeable("a global begins with the value of another one")
    else:
        value = bytes(definition.value)
    return Global(definition.type, value)


def _wrapped(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)
