"""The modules of a component, before and after they are merged."""

import sys
import unittest
from functools import cache

from support import REPOSITORY, SDK, TOP

sys.path.insert(0, str(SDK))
from builder.component import merge_modules  # noqa: E402
from builder.linked import run_componentize_py  # noqa: E402
from builder.failure import Note  # noqa: E402
from builder.merge import NotMergeable, merged  # noqa: E402
from builder.merge.binary import Reader, number, signed  # noqa: E402
from builder.merge.code import Names, forwarded_slot, pieces_of  # noqa: E402
from builder.merge.component import Component, Definition, Export, Exports, Instantiation  # noqa: E402
from builder.merge.module import Elements, Import, Kind, Module  # noqa: E402
from builder.stage import Stage  # noqa: E402

I32_CONST, GLOBAL_GET = 0x41, 0x23

# (i32, i32) -> i32
BINARY = bytes([0x60, 2, 0x7F, 0x7F, 1, 0x7F])


@cache
def apart() -> bytes:
    """Builds the example as componentize-py leaves it, once."""
    work, out = TOP / "apart", TOP / "apart.wasm"
    work.mkdir()
    entry = REPOSITORY / "guest-examples" / "python" / "csv-stats" / "tool.py"
    with Stage.of(entry, REPOSITORY / "wit", work, web=False, tools=False) as stage:
        run_componentize_py(stage, None, out)
    return out.read_bytes()


@cache
def together() -> bytes:
    return merged(apart())


class Bodies(unittest.TestCase):
    def test_finds_what_a_body_names(self) -> None:
        parts: list[tuple[bytes, Names | None, int]] = [
            (b"\1\3\x7f\x41\x10\x21\0", None, 0),  # Three locals; i32.const 16, which looks like a call; local.set.
            (b"\x10" + number(300), Names.FUNCTION, 300),
            (b"\x02\x40\x20\0\x0e\1\0\0\x0b", None, 0),  # A block with a br_table.
            (b"\x11\x05\x80\x80\x80\x80\0", Names.TYPE, 5),  # A table's number in five bytes.
            (b"\x42\x90\x91\x92\0\x1a\x44\x10\x11\x12\x23\x24\x10\x11\x12\x1a", None, 0),  # Constants.
            (b"\x03\xc0\0", Names.TYPE, 64),
            (b"\x28\2\x90\x10\xfc\x0a\0\0", None, 0),  # A load from 2064; memory.copy.
            (b"\x23\1", Names.GLOBAL, 1),
            (b"\x24\x80\1", Names.GLOBAL, 128),
        ]
        pieces, last = pieces_of(b"".join(part for part, _, _ in parts) + b"\x0b\x0b")
        expected = [(names, value) for _, names, value in parts if names is not None]
        self.assertEqual([(it.names, it.number) for it in pieces], expected)
        self.assertEqual(last, b"\x0b\x0b")
        before = [part for part, names, _ in parts if names is None]
        self.assertEqual([it.before for it in pieces if it.before], before)

    def test_refuses_an_instruction_that_it_does_not_know(self) -> None:
        for instruction in (b"\x25\0", b"\x26\0", b"\xd2\0", b"\xfd\x0c", b"\xfc\x08\0\0", b"\x28\x42\0\0"):
            with self.subTest(instruction.hex()), self.assertRaisesRegex(NotMergeable, instruction[:2].hex()):
                pieces_of(b"\0\x01" + instruction + b"\x0b")

    def test_finds_the_slot_that_a_function_forwards_to(self) -> None:
        forwards = b"\0\x20\0\x20\1\x41" + signed(5000) + b"\x11\0\0\x0b"
        self.assertEqual(forwarded_slot(forwards, [BINARY], BINARY), 5000)
        swapped = forwards.replace(b"\x20\0\x20\1", b"\x20\1\x20\0")
        self.assertIsNone(forwarded_slot(swapped, [BINARY], BINARY))
        self.assertIsNone(forwarded_slot(forwards, [BINARY[:-2] + b"\0"], BINARY))
        self.assertIsNone(forwarded_slot(forwards[:-1] + b"\x1a\x0b", [BINARY], BINARY))

    def test_reads_the_numbers_that_it_writes(self) -> None:
        for value in (0, 1, 63, 64, 127, 128, 2**31 - 1):
            self.assertEqual(Reader(memoryview(number(value))).number(), value)
            for each in (value, -value - 1):
                self.assertEqual(Reader(memoryview(signed(each))).signed(), each)


class Merged(unittest.TestCase):
    def test_has_one_module_with_the_table_and_its_functions(self) -> None:
        [module] = [it for it in modules(together()) if it.memories]
        self.assertEqual(len(module.tables), 1)
        self.assertTrue(all(it.kind is Kind.FUNC for it in module.imports))
        self.assertTrue(all(it.offset[0] == I32_CONST for it in module.elements))
        # The addresses that the libraries shared are constants; their stack pointer is not.
        self.assertIn(len(module.globals), range(1, 10))
        self.assertEqual({it.type[1] for it in module.globals}, {1})
        filled = sum(len(it.functions) for it in module.elements)
        self.assertGreater(filled, 5000)
        elsewhere = [it for it in modules(together()) if not it.memories]
        self.assertLess(sum(len(elements.functions) for it in elsewhere for elements in it.elements), 200)

    def test_keeps_the_function_in_each_slot_of_the_table(self) -> None:
        before, [module] = Linked(apart()).slots(), [it for it in modules(together()) if it.memories]
        after = {
            slot: (module.names[function], type_of(module, function))
            for elements in module.elements
            for slot, function in enumerate(elements.functions, Reader(elements.offset, 1).signed())
        }
        self.assertGreater(len(before), 5000)
        self.assertEqual(before, after)

    def test_keeps_the_memory(self) -> None:
        [before], [after] = ([it for it in modules(each) if it.memories] for each in (apart(), together()))
        self.assertEqual((before.memories, before.data), (after.memories, after.data))

    def test_refuses_a_component_that_is_merged_already(self) -> None:
        with self.assertRaisesRegex(NotMergeable, "0 modules define a memory and a table"):
            merged(together())

    def test_leaves_an_unknown_component_as_it_is_and_says_so(self) -> None:
        file = TOP / "unknown.wasm"
        unknown = apart().replace(b"__indirect_function_table", b"__another_function_table_")
        file.write_bytes(unknown)
        notes: list[Note] = []
        merge_modules(file, notes)
        self.assertEqual(file.read_bytes(), unknown)
        [note] = notes
        self.assertIn("its modules cannot be merged, because 0 modules define a memory", note.message)

    def test_refuses_what_ends_too_early(self) -> None:
        for length in (9, 1_000, 1_000_000, len(apart()) - 1):
            with self.subTest(length), self.assertRaises(NotMergeable):
                merged(apart()[:length])


def modules(component: bytes) -> list[Module]:
    definitions = Component.read(memoryview(component)).definitions
    return [Module.read(it.content) for it in definitions if isinstance(it.content, memoryview)]


def type_of(module: Module, function: int) -> bytes:
    imported = [it.type for it in module.imports if it.kind is Kind.FUNC]
    return [*imported, *module.functions][function]


class Linked:
    """A component before its modules are merged, as the host links it."""

    def __init__(self, component: bytes) -> None:
        definitions = Component.read(memoryview(component)).definitions
        instances = [it for it in definitions if isinstance(it.content, Instantiation)]
        self.modules = {it: Module.read(it.content.module.content) for it in instances}

    def slots(self) -> dict[int, tuple[str, bytes]]:
        """Returns the name and the type of the function in each slot of the table that the modules share."""
        filled = {}
        for instance, module in self.modules.items():
            if not any(it.name == "__indirect_function_table" for it in module.imports):
                continue
            for elements in module.elements:
                for slot, function in enumerate(elements.functions, self.offset(instance, elements)):
                    filled[slot] = self.function(instance, function)
        return filled

    def offset(self, instance: Definition, elements: Elements) -> int:
        reader = Reader(elements.offset, 1)
        if elements.offset[0] == I32_CONST:
            return reader.signed()
        assert elements.offset[0] == GLOBAL_GET
        imported = [it for it in self.modules[instance].imports if it.kind is Kind.GLOBAL]
        origin, name = self.origin(instance, imported[reader.number()])
        kind, at = self.modules[origin].exports[name]
        assert kind is Kind.GLOBAL
        return Reader(self.modules[origin].globals[at].value, 1).signed()

    def function(self, instance: Definition, at: int) -> tuple[str, bytes]:
        module = self.modules[instance]
        imported = [it for it in module.imports if it.kind is Kind.FUNC]
        if at >= len(imported):
            return module.names[at], type_of(module, at)
        origin, name = self.origin(instance, imported[at])
        kind, at = self.modules[origin].exports[name]
        assert kind is Kind.FUNC
        return self.function(origin, at)

    def origin(self, instance: Definition, wanted: Import) -> tuple[Definition, str]:
        argument = instance.content.arguments[wanted.module]
        if not isinstance(argument.content, Exports):
            return argument, wanted.name
        alias = argument.content.by_name[wanted.name].content
        assert isinstance(alias, Export)
        return alias.instance, alias.name


if __name__ == "__main__":
    unittest.main()
