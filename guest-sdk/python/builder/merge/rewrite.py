"""Replaces the instances of a component that share a memory by one instance."""

from builder.merge.binary import NotMergeable
from builder.merge.component import (
    Component,
    Definition,
    Export,
    Exports,
    Instantiation,
    alias_of,
    exports_of,
    instance_of,
    module_of,
)
from builder.merge.emit import Emitted
from builder.merge.module import Import, Kind, Module
from builder.merge.program import Function, HostFunction, Instance, Program, Thing
from builder.merge.resume import EXPORT, resume

# As the linker of shared libraries names it.
_TABLE = "__indirect_function_table"


def merged(component: bytes, *, is_base: bool = False) -> bytes:
    """Returns the component with one module in place of those that share a memory.

    In a base, the function that initializes the interpreter continues it with a tool.

    Raises `NotMergeable` if the component is linked in another way.
    """
    try:
        read = Component.read(memoryview(component))
        return read.written(_Rewrite(read, is_base).ordered())
    except (IndexError, UnicodeDecodeError) as error:
        raise NotMergeable(f"it is not a valid component ({error})") from error


class _Rewrite:
    def __init__(self, component: Component, is_base: bool) -> None:
        self._component = component
        self._is_base = is_base
        self._modules: dict[Definition, Module] = {}
        self._program = Program()
        self._instances: dict[Definition, Instance] = {}
        self._host: dict[Definition, HostFunction] = {}
        self._main = self._found_main()
        for definition in component.definitions:
            if definition is self._main or self._shares_memory(definition):
                self._instances[definition] = self._add(definition)
        if len(self._instances) < 2:
            raise NotMergeable("no module shares the memory of another one")

    def ordered(self) -> list[Definition]:
        """Returns the definitions of the new component in their order."""
        roots = [it for it in self._component.definitions if it.space is None or _is_instance_of_module(it)]
        roots = [it for it in roots if it not in self._instances]
        used = self._used(roots)
        names = {alias: f"{alias.content.name}#{at}" for at, alias in enumerate(used)}  # type: ignore[union-attr]
        emitted = Emitted(self._program, {name: self._exported(alias) for alias, name in names.items()})
        sources = {str(at): function.source for at, function in enumerate(emitted.imports)}
        module = module_of(memoryview(emitted.module(self._main_module.content)))  # type: ignore[arg-type]
        instance = instance_of(Instantiation(module, {"": exports_of(Exports(sources))}))
        for alias, name in names.items():
            alias.parts = alias_of(Export(instance, name), alias.space).parts  # type: ignore[arg-type]
        return self._in_order(roots)

    @property
    def _main_module(self) -> Definition:
        assert isinstance(self._main.content, Instantiation)
        return self._main.content.module

    def _module(self, definition: Definition) -> Module:
        if definition not in self._modules:
            assert isinstance(definition.content, memoryview)
            self._modules[definition] = Module.read(definition.content)
        return self._modules[definition]

    def _found_main(self) -> Definition:
        """Returns the instance that defines the memory and the table of the others."""
        found = [
            it
            for it in self._component.definitions
            if isinstance(it.content, Instantiation)
            and self._module(it.content.module).memories
            and _TABLE in self._module(it.content.module).exports
        ]
        if len(found) != 1:
            raise NotMergeable(f"{len(found)} modules define a memory and a table of functions, instead of 1")
        return found[0]

    def _shares_memory(self, definition: Definition) -> bool:
        if not isinstance(definition.content, Instantiation):
            return False
        for wanted in self._module(definition.content.module).imports:
            if wanted.kind is Kind.MEMORY:
                is_direct = definition.content.arguments.get(wanted.module) in self._instances
                return is_direct or self._is_ours(self._argument(definition.content, wanted))
        return False

    def _add(self, definition: Definition) -> Instance:
        content = definition.content
        assert isinstance(content, Instantiation)

        def resolve(wanted: Import) -> Thing:
            instance = content.arguments.get(wanted.module)
            if instance in self._instances:
                return self._instances[instance].export(wanted.name)
            found = self._argument(content, wanted)
            return self._thing(found) if self._is_ours(found) else self._host_function(found, wanted)

        return self._program.add(self._module(content.module), resolve)

    def _argument(self, content: Instantiation, wanted: Import) -> Definition:
        """Returns what an import gets from an instance that is not part of the program."""
        instance = content.arguments.get(wanted.module)
        if instance is None or not isinstance(instance.content, Exports):
            raise NotMergeable(f"the import {wanted.module}#{wanted.name} comes from another module")
        if wanted.name not in instance.content.by_name:
            raise NotMergeable(f"the import {wanted.module}#{wanted.name} gets nothing")
        return instance.content.by_name[wanted.name]

    def _is_ours(self, definition: Definition) -> bool:
        """Whether it is an export of an instance of the program."""
        return isinstance(definition.content, Export) and definition.content.instance in self._instances

    def _thing(self, alias: Definition) -> Thing:
        assert isinstance(alias.content, Export)
        return self._instances[alias.content.instance].export(alias.content.name)

    def _exported(self, alias: Definition) -> Thing:
        thing = self._thing(alias)
        if self._is_base and alias.content.name == EXPORT and isinstance(thing, Function):  # type: ignore[union-attr]
            return resume(self._program, thing.type, list(self._host.values()))
        return thing

    def _host_function(self, source: Definition, wanted: Import) -> HostFunction:
        if wanted.kind is not Kind.FUNC:
            raise NotMergeable(f"the import {wanted.module}#{wanted.name} is not a function")
        if source not in self._host:
            self._host[source] = HostFunction(source, wanted.type, f"{wanted.module}#{wanted.name}")
        return self._host[source]

    def _used(self, roots: list[Definition]) -> list[Definition]:
        """Returns the exports of the program that `roots` need."""
        seen: dict[Definition, None] = {}
        next = list(roots)
        while next:
            definition = next.pop()
            if definition not in seen:
                seen[definition] = None
                next += [] if self._is_ours(definition) else definition.named
        return [it for it in seen if self._is_ours(it)]

    def _in_order(self, roots: list[Definition]) -> list[Definition]:
        """Returns `roots`, and before each what it needs."""
        ordered: dict[Definition, None] = {}
        begun: set[Definition] = set()

        def add(definition: Definition, root: Definition) -> None:
            if definition in ordered:
                return
            # What is not a root may need definitions of the component that precede it, which are roots.
            if definition in begun or definition in self._instances or definition.position > root.position:
                raise NotMergeable("its modules need each other in an unknown order")
            begun.add(definition)
            for needed in definition.named:
                add(needed, root)
            ordered[definition] = None

        for root in roots:
            add(root, root)
        return list(ordered)


def _is_instance_of_module(definition: Definition) -> bool:
    return isinstance(definition.content, Instantiation)
