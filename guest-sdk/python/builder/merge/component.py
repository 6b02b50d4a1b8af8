"""Reads a component as definitions that name each other, and writes them in another order."""

from dataclasses import dataclass, field
from enum import IntEnum
from itertools import groupby
from typing import Union

from builder.merge.binary import NotMergeable, Reader, listed, name, number, sections_of, with_header


class ComponentSection(IntEnum):
    CUSTOM = 0
    CORE_MODULE = 1
    CORE_INSTANCE = 2
    ALIAS = 6
    CANON = 8


class Space(IntEnum):
    """Definitions that are numbered together. The values are the sorts of the binary format."""

    FUNC = 0
    TABLE = 1
    MEMORY = 2
    GLOBAL = 3
    MODULE = 0x11
    INSTANCE = 0x12


# Sections that are read item by item.
_READ = (ComponentSection.CORE_INSTANCE, ComponentSection.ALIAS, ComponentSection.CANON)

# The options of a lifted or lowered function: text encodings, and those that name a definition.
_ENCODINGS = (0, 1, 2)
_OPTIONS = {3: Space.MEMORY, 4: Space.FUNC, 5: Space.FUNC}

# Names of definitions by their numbers, which change.
_NAMES = "component-name"


@dataclass(frozen=True)
class Export:
    """An export of an instance."""

    instance: "Definition"
    name: str


@dataclass(frozen=True)
class Instantiation:
    module: "Definition"
    arguments: dict[str, "Definition"]


@dataclass(frozen=True)
class Exports:
    """The exports of an instance without a module."""

    by_name: dict[str, "Definition"]


Content = Union[Export, Instantiation, Exports, memoryview, None]


@dataclass(eq=False)
class Definition:
    """One item of a section, or a whole section that names nothing of a module."""

    section: int
    # Bytes, and the definitions that are named between them.
    parts: list["bytes | Definition"]
    space: Space | None = None
    # What it is, if a program is made of it; the bytes of a module.
    content: Content = None
    # Its place among the definitions of the component.
    position: int = 0

    @property
    def named(self) -> list["Definition"]:
        return [part for part in self.parts if isinstance(part, Definition)]


def module_of(data: memoryview) -> Definition:
    return Definition(ComponentSection.CORE_MODULE, [bytes(data)], Space.MODULE, data)


def instance_of(instantiation: Instantiation) -> Definition:
    arguments = instantiation.arguments
    parts: list[bytes | Definition] = [b"\0", instantiation.module, number(len(arguments))]
    for argument, instance in arguments.items():
        parts += [name(argument) + bytes([Space.INSTANCE]), instance]
    return Definition(ComponentSection.CORE_INSTANCE, parts, Space.INSTANCE, instantiation)


def exports_of(exports: Exports) -> Definition:
    parts: list[bytes | Definition] = [b"\1", number(len(exports.by_name))]
    for exported, definition in exports.by_name.items():
        parts += [name(exported) + bytes([definition.space or 0]), definition]
    return Definition(ComponentSection.CORE_INSTANCE, parts, Space.INSTANCE, exports)


def alias_of(export: Export, space: Space) -> Definition:
    parts: list[bytes | Definition] = [bytes([0, space, 1]), export.instance, name(export.name)]
    return Definition(ComponentSection.ALIAS, parts, space, export)


@dataclass
class Component:
    data: memoryview
    definitions: list[Definition] = field(default_factory=list)
    _spaces: dict[Space, list[Definition]] = field(default_factory=lambda: {space: [] for space in Space})

    @staticmethod
    def read(data: memoryview) -> "Component":
        component = Component(data)
        for section in sections_of(data):
            component._read(section.id, Reader(section.body))
        return component

    def written(self, definitions: list[Definition]) -> bytes:
        """Returns the component with these definitions, in this order."""
        numbers: dict[Definition, int] = {}
        counts = dict.fromkeys(Space, 0)
        items = []
        for definition in definitions:
            if definition.space is not None:
                numbers[definition] = counts[definition.space]
                counts[definition.space] += 1
            parts = (number(numbers[part]) if isinstance(part, Definition) else part for part in definition.parts)
            items.append((definition.section, b"".join(parts)))
        sections: list[tuple[int, bytes]] = []
        for id, group in groupby(items, lambda item: item[0]):
            bodies = [body for _, body in group]
            sections += [(id, listed(bodies))] if id in _READ else [(id, body) for body in bodies]
        return with_header(self.data, sections)

    def _read(self, id: int, reader: Reader) -> None:
        match id:
            case ComponentSection.CORE_MODULE:
                self._define(module_of(reader.data))
            case ComponentSection.CORE_INSTANCE:
                reader.list(lambda: self._define(self._instance(reader)))
            case ComponentSection.ALIAS:
                reader.list(lambda: self._define(self._alias(reader)))
            case ComponentSection.CANON:
                reader.list(lambda: self._define(self._canonical(reader)))
            case ComponentSection.CUSTOM if reader.name() == _NAMES:
                pass
            case _:
                self._define(Definition(id, [bytes(reader.data)]))

    def _define(self, definition: Definition) -> None:
        definition.position = len(self.definitions)
        self.definitions.append(definition)
        if definition.space is not None:
            self._spaces[definition.space].append(definition)

    def _find(self, space: Space, at: int) -> Definition:
        if at >= len(self._spaces[space]):
            raise NotMergeable("it names something that it does not define before")
        return self._spaces[space][at]

    def _instance(self, reader: Reader) -> Definition:
        match reader.byte():
            case 0:
                module = self._find(Space.MODULE, reader.number())
                arguments = reader.list(lambda: self._argument(reader))
                return instance_of(Instantiation(module, dict(arguments)))
            case 1:
                exports = reader.list(lambda: (reader.name(), self._find(_space(reader.byte()), reader.number())))
                return exports_of(Exports(dict(exports)))
            case kind:
                raise NotMergeable(f"it has an instance of the kind {kind}")

    def _argument(self, reader: Reader) -> tuple[str, Definition]:
        argument = reader.name()
        reader.expect(bytes([Space.INSTANCE]), "an argument that is not an instance")
        return argument, self._find(Space.INSTANCE, reader.number())

    def _alias(self, reader: Reader) -> Definition:
        start = reader.at
        core = reader.byte() == 0
        sort = reader.byte() if core else None
        target = reader.byte()
        if sort is not None and target == 1:
            return alias_of(Export(self._find(Space.INSTANCE, reader.number()), reader.name()), _space(sort))
        if sort is not None:
            raise NotMergeable("it has a module or a type from outside")
        reader.number()
        if target == 2:  # Of an outer component.
            reader.number()
        else:
            reader.name()
        return Definition(ComponentSection.ALIAS, [reader.since(start)])

    def _canonical(self, reader: Reader) -> Definition:
        start = reader.at
        kind = reader.byte()
        match kind:
            case 0:  # Lifts a function.
                reader.expect(b"\0", "a lifted function of an unknown kind")
                function = self._find(Space.FUNC, reader.number())
                parts = [b"\0\0", function, *self._options(reader), number(reader.number())]
                return Definition(ComponentSection.CANON, parts)
            case 1:  # Lowers a function.
                reader.expect(b"\0", "a lowered function of an unknown kind")
                reader.number()
                parts = [reader.since(start), *self._options(reader)]
                return Definition(ComponentSection.CANON, parts, Space.FUNC)
            case 2 | 3 | 4:  # Creates or drops a resource, or returns its representation.
                reader.number()
                return Definition(ComponentSection.CANON, [reader.since(start)], Space.FUNC)
            case _:
                raise NotMergeable(f"it has a built-in function of the kind {kind:#x}")

    def _options(self, reader: Reader) -> list[bytes | Definition]:
        count = reader.number()
        parts: list[bytes | Definition] = [number(count)]
        for _ in range(count):
            option = reader.byte()
            parts.append(bytes([option]))
            if option in _OPTIONS:
                parts.append(self._find(_OPTIONS[option], reader.number()))
            elif option not in _ENCODINGS:
                raise NotMergeable(f"it has a function with the option {option}")
        return parts


def _space(sort: int) -> Space:
    if sort not in (Space.FUNC, Space.TABLE, Space.MEMORY, Space.GLOBAL):
        raise NotMergeable(f"it has a definition of the sort {sort:#x}")
    return Space(sort)
