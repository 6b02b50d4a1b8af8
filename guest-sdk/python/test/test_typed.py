"""Functions with typed parameters, without a component: schemas, conversions, and what is refused."""

import json
import sys
import textwrap
import unittest
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import shapes

KIT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(KIT / "sdk"))

from toolhost import Context, ToolError
from toolhost._context import CallContext
from toolhost._handlers import HandlersError
from toolhost._tool import Tool

PROBE = KIT / "test" / "fixtures" / "probe"


def loaded(file: Path) -> ModuleType:
    spec = spec_from_file_location(file.stem, file)
    module = sys.modules[file.stem] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Shapes(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.module = loaded(PROBE / "typed.py")
        cls.tool = Tool(cls.module, polls=False)
        cls.shapes = dict(shapes.SHAPES)
        cls.exports = {it["name"]: it for it in cls.tool.exports()}
        cls.tools = dict.fromkeys(cls.exports, cls.tool)
        if sys.version_info >= (3, 14):
            new = Tool(loaded(PROBE / "typed_new.py"), polls=False)
            cls.shapes |= shapes.NEW_SHAPES
            cls.exports |= {it["name"]: it for it in new.exports()}
            cls.tools |= dict.fromkeys(new.handlers, new)

    def call(self, name: str, args: Any) -> Any:
        return json.loads(self.tools[name].call(name, Context(), json.dumps(args)))

    def test_each_shape_has_its_schema(self) -> None:
        self.maxDiff = None
        for name, (schema, _, _) in self.shapes.items():
            with self.subTest(name):
                self.assertEqual(self.exports[name]["parameters"]["properties"]["x"], schema)
                self.assertEqual(self.exports[name]["parameters"]["required"], ["x"])
        self.assertEqual(self.exports["recursive"]["parameters"]["$defs"], {"Tree": shapes.TREE})
        self.assertEqual(self.exports["defaults"]["parameters"], shapes.DEFAULTS)
        self.assertEqual(self.exports["no_arguments"]["parameters"], shapes.record())
        self.assertEqual(self.exports["optional"]["parameters"], shapes.record([], x={"type": "string", "default": "d"}))
        if "new_alias" in self.exports:
            self.assertEqual(self.exports["new_alias"]["parameters"]["$defs"], {"Json": shapes.NEW_JSON})

    def test_each_argument_arrives_as_its_type(self) -> None:
        for name, (_, values, _) in self.shapes.items():
            for value, arrives in values:
                with self.subTest(name, value=value):
                    self.assertEqual(self.call(name, {"x": value}), arrives)
        for name, args, arrives in shapes.CALLS:
            if arrives is not None:
                with self.subTest(name, args=args):
                    self.assertEqual(self.call(name, args), arrives)

    def test_what_does_not_fit_is_refused_with_its_place(self) -> None:
        calls = [(name, {"x": value}) for name, (_, _, wrong) in self.shapes.items() for value in wrong]
        for name, args in calls + [(name, args) for name, args, arrives in shapes.CALLS if arrives is None]:
            with self.subTest(name, args=args), self.assertRaises(ToolError) as raised:
                self.call(name, args)
            self.assertEqual(raised.exception.name, "ArgumentError")
        for name, args, message in [
            ("items", {"x": [{"x": 1}, {"x": "a"}]}, "the argument `x[1].x` is 'a', not a number"),
            ("mapping", {"x": {"a": {}}}, "the argument `x.a` lacks the field `x`"),
            ("told_apart", {"x": {"kind": "oval"}}, "the argument `x.kind` is 'oval': it is one of 'circle', 'box'"),
            ("refused", {"x": {"start": 2, "end": 1}}, "the argument `x` is refused: the end is before the start"),
            ("day", {"x": "today"}, "the argument `x` is 'today', not a date such as 2026-01-31"),
            ("day", {}, "the call lacks the field `x`"),
            ("day", {"x": "2026-01-31", "y": 1}, "the call has no field `y`: its fields are x"),
        ]:
            with self.subTest(name), self.assertRaises(ToolError) as raised:
                self.call(name, args)
            self.assertEqual(str(raised.exception), message)

    def test_results_become_json_as_their_types_say(self) -> None:
        order = {
            "id": "00000000-0000-0000-0000-000000000001",
            "at": "2026-01-31T12:00:00Z",
            "total": "1.10",
            "colours": ["blue", "red"],
            "took": "P1DT3.5S",
            "lines": [{"id": 1, "since": "2026-01-01"}],
            "$key": "a2V5",
            "count": 1,
        }
        made = self.call("order", {})
        self.assertEqual({**made, "colours": sorted(made["colours"])}, order)
        schema = self.exports["order"]["outputSchema"]
        self.assertEqual((schema["type"], schema["required"]), ("object", [*order]))
        self.assertEqual(schema["properties"]["lines"]["items"]["required"], ["id"])
        self.assertEqual(self.exports["order"]["description"], "Returns each kind of result")
        self.assertEqual(self.call("keyed", {}), {"red": 1})
        self.assertEqual(self.exports["keyed"]["description"], "Counts.")
        self.assertNotIn("outputSchema", self.exports["day"])
        with self.assertRaisesRegex(ToolError, r"result\['a'\]\[1\]\['b'\] is of type object"):
            self.call("wrong", {})

    def test_the_function_stays_as_it_is(self) -> None:
        self.assertEqual(self.module.day("no date"), "'no date'")
        self.assertEqual(self.module.by_position(1, Context()), "(1, 2, '/')")


class Refusals(unittest.TestCase):
    def tool(self, source: str) -> Tool:
        with TemporaryDirectory() as folder:
            file = Path(folder, "tool_of_a_test.py")
            file.write_text("from toolhost import *\n" + textwrap.dedent(source))
            return Tool(loaded(file), polls=False)

    def test_bounds_within_other_metadata_count(self) -> None:
        # As pydantic's `Field` holds them.
        source = """
            from typing import Annotated
            class Field:
                description = "Days"
                metadata = [Param(ge=1), Param(le=7)]
            @tool
            def f(days: Annotated[int, Field()]): ...
            """
        parameters = self.tool(source).handlers["f"].parameters
        expected = {"type": "integer", "minimum": 1, "maximum": 7, "description": "Days"}
        self.assertEqual(parameters["properties"]["days"], expected)

    def test_what_cannot_be_said_is_an_error_with_its_line(self) -> None:
        imports = "import enum, dataclasses\nfrom typing import *\n"
        for source, line, message in [
            ("@tool\ndef f(\n  x: Annotated[int, Param(le=7)] = 8): ...", 5, "the default of `x` is 8, beyond its `maximum` 7"),
            ("@tool\ndef f(x: Annotated[str, Param(pattern='^a')] = 'b'): ...", 4, "beyond its `pattern` ^a"),
            ("@tool\ndef f(x: Annotated[list[int], Param(min_length=1)] = []): ...", 4, "beyond its `minItems` 1"),
            ('@tool\ndef f(limit: int):\n  """F.\n\n  Args:\n    limitt: N\n  """', 8, "describes `limitt`, which is no parameter: did you mean `limit`?"),
            ('@tool\ndef f(ctx: Context):\n  """F.\n\n  :param str path: N\n  """', 7, "describes `path`, which is no parameter: its parameters are ctx"),
            ("@tool\ndef f(x): ...", 4, "the parameter `x` has no type: write `x: str`"),
            ("@tool\ndef f(\n    ctx): ...", 5, "write `ctx: Context`"),
            ("@tool\ndef f(a: int,\n      *x: int): ...", 5, "takes any arguments"),
            ("@tool\ndef f(x: Callable[[], int]): ...", 4, "Callable has no JSON Schema: take the name of the function"),
            ("@tool\ndef f(a: int,\n      x: complex): ...", 5, "complex has no JSON Schema: take a tuple[float, float]"),
            ("class A: ...\n@tool\ndef f(x: list[A]): ...", 5, "the class A has no fields: make it a @dataclass"),
            ("@tool\ndef f(x: 'Nowhere'): ...", 4, "`Nowhere` in the annotation `Nowhere` is not defined"),
            ("@tool\ndef f(x: set[list[int]]): ...", 4, "a set cannot hold"),
            ("@tool\ndef f(x: dict[float, int]): ...", 4, "a key of a mapping is a text"),
            ("@tool\ndef f(x: int = 'a'): ...", 4, "the default of `x` is 'a', not an integer"),
            ("@tool\ndef f(x: Any = object()): ...", 4, "is not JSON"),
            ("@tool\ndef f(x: int = Param('n')): ...", 4, "write `x: Annotated[T, Param(...)]`"),
            ("@tool\ndef f(x: Annotated[str, Param(ge=1)]): ...", 4, "`ge=1` is a bound of numbers"),
            ("class F(enum.Flag):\n  A = 1\n@tool\ndef f(x: F): ...", 6, "F is a set of flags"),
            ("@dataclasses.dataclass\nclass A:\n  a: int\n  b: type\n@tool\ndef f(x: A): ...", 6, "type has no JSON Schema"),
            ("@tool\ndef f(x: Annotated[int, Param(alias='y')], y: int): ...", 4, "two fields have the name `y`"),
            ("@tool\ndef f(\n) -> complex: ...", 5, "complex has no JSON Schema"),
            ("@tool\ndef f_A(): ...", 3, "a name has lower-case letters"),
            ("def f(): ...\ntool(f)\n@tool(name='f')\ndef g(): ...", 5, "two handlers with the name `f`"),
            ("", None, "there is no handler"),
            ("handlers = {}", None, "is not a dict of at least one function"),
        ]:
            with self.subTest(source), self.assertRaises(HandlersError) as raised:
                self.tool(imports + source)
            self.assertIn(message, str(raised.exception))
            self.assertEqual(raised.exception.line, line and line + 1)

    def test_handlers_may_be_listed_and_marked(self) -> None:
        tool = self.tool("""
            from typing import Any
            def old(ctx, input): return input
            def older(ctx: Context, input: dict[str, Any]) -> dict[str, Any]: return input
            def wide(context: "Context", values: dict) -> dict: return values
            def new(a: int, b: int) -> int: return a + b
            def one(path: str) -> str: return path
            @tool
            def marked(ctx: Context, x: int) -> int: return x
            @tool
            def both(x: int) -> int: return x
            handlers = {"old": old, "older": older, "wide": wide, "new": new, "one": one, "same": both}
        """)
        self.assertEqual([*tool.handlers], ["old", "older", "wide", "new", "one", "same", "marked"])
        typed = [name for name, it in tool.handlers.items() if it.parameters is not None]
        self.assertEqual(typed, ["new", "one", "same", "marked"])
        self.assertEqual(tool.call("new", Context(), '{"a": 1, "b": 2}'), "3")
        self.assertEqual(tool.call("older", Context(), '{"a": 1}'), '{"a":1}')


class Contexts(unittest.TestCase):
    def test_what_contexts_of_others_have_is_said_with_what_there_is_instead(self) -> None:
        of_host = CallContext('{"role": "assistant"}', agent_name="a", tool_call_id="call_1")
        self.assertEqual((of_host.agent_name, of_host.message), ("a", {"role": "assistant"}))
        for context in (Context(), of_host):
            for name, instead in [
                ("info", "ctx.logger.info"),
                ("report_progress", "no progress"),
                ("request_id", "ctx.tool_call_id"),
                ("set_state", "files of the workdir"),
                ("nothing", "it has agent_name, "),
            ]:
                with self.assertRaisesRegex(AttributeError, f"has no `{name}`: .*{instead}"):
                    getattr(context, name)


class Docstrings(unittest.TestCase):
    def test_what_is_nearest_to_a_parameter_describes_it(self) -> None:
        source = '''
            import enum
            from typing import Annotated
            class Unit(enum.Enum):
                "Of the type"
                C = "c"
            @tool
            def f(a: Unit, b: Unit, c: Annotated[Unit, "Of the annotation"], d: Unit | None = None):
                """F.

                Args:
                    b: Of the docstring
                    c: Of the docstring
                    d: Of the docstring
                """
            '''
        properties = Refusals().tool(source).handlers["f"].parameters["properties"]
        said = {name: it["description"] for name, it in properties.items()}
        docstring = "Of the docstring"
        self.assertEqual(said, {"a": "Of the type", "b": docstring, "c": "Of the annotation", "d": docstring})

    def test_the_three_forms_describe_parameters(self) -> None:
        forms = {
            "google": "Finds\n    rows.\n\n    First by name:\n\n    - a\n    - b\n\n    Args:\n        x (int): How many,\n"
            "            at most.\n        y: Which: all.\n\n    Raises:\n        ValueError: no\n\n    Example:\n        f(1)\n    ",
            "numpy": "Finds\n    rows.\n\n    First by name:\n\n    - a\n    - b\n\n    Parameters\n    ----------\n    x : int\n"
            "        How many,\n        at most.\n    y\n        Which: all.\n\n    Returns\n    -------\n    int\n        n\n    ",
            "sphinx": "Finds\n    rows.\n\n    First by name:\n\n    - a\n    - b\n\n    :param int x: How many,\n"
            "        at most.\n    :param y: Which: all.\n    :returns: n\n    ",
        }
        for form, text in forms.items():
            source = f'@tool\ndef f(x: int, y: str, z: bool = False) -> int:\n    """{text}"""\n    return 1\n'
            with self.subTest(form):
                [export] = Refusals().tool(source).exports()
                said = {name: it.get("description") for name, it in export["parameters"]["properties"].items()}
                self.assertEqual(said, {"x": "How many, at most.", "y": "Which: all.", "z": None})
                expected = "Finds rows.\n\nFirst by name:\n\n- a\n- b"
                self.assertEqual(export["description"].partition("\n\nExample:")[0], expected)
                self.assertEqual("f(1)" in export["description"], form == "google")


if __name__ == "__main__":
    unittest.main()
