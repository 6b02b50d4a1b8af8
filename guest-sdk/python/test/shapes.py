"""The shapes of fixtures/probe/typed.py: the schema of each, calls with what arrives, and calls that are refused."""

from typing import Any

POINT = {
    "type": "object",
    "properties": {
        "x": {"type": "number", "description": "Metres to the east"},
        "y": {"type": "number", "description": "Metres to the north", "default": 0.0},
    },
    "required": ["x"],
    "additionalProperties": False,
    "description": "A place.",
}
BOX = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "const": "box"},
        "corners": {"type": "array", "prefixItems": [POINT, POINT], "minItems": 2, "maxItems": 2},
    },
    "required": ["kind", "corners"],
    "additionalProperties": False,
}
COLOUR = {"type": "string", "enum": ["red", "blue"], "description": "What it looks like"}
RED = "<Colour.RED: 'red'>"


def record(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    required = [*properties] if required is None else required
    needs = {"required": required} if required else {}
    return {"type": "object", "properties": properties, **needs, "additionalProperties": False}


CIRCLE = record(kind={"type": "string", "const": "circle"}, radius={"type": "number"})
TREE = record(["value"], value={"type": "integer"}, children={"type": "array", "items": {"$ref": "#/$defs/Tree"}, "default": []})
NAMED = record(name={"type": "string"})
TEXT = {"type": "string"}

# By name: the schema of `x`, values of `x` with what arrives, and values that are refused.
SHAPES: dict[str, tuple[Any, list[tuple[Any, str]], list[Any]]] = {
    "nullable": ({"type": ["string", "null"]}, [("a", "'a'"), (None, "None")], [1]),
    "scalars": (
        {"anyOf": [{"type": "number"}, {"type": "integer"}, {"type": "string"}, {"type": "boolean"}]},
        [(1, "1"), (1.5, "1.5"), ("1", "'1'"), (True, "True")],
        [None, []],
    ),
    "text_or_date": (
        {"anyOf": [{"type": "string", "format": "date"}, TEXT]},
        [("2026-01-31", "datetime.date(2026, 1, 31)"), ("x", "'x'")],
        [1],
    ),
    "told_apart": (
        {"anyOf": [CIRCLE, BOX]},
        [
            ({"kind": "circle", "radius": 1}, "Circle(kind='circle', radius=1.0)"),
            (
                {"kind": "box", "corners": [{"x": 1}, {"x": 2, "y": 3}]},
                "Box(kind='box', corners=(Point(x=1.0, y=0.0), Point(x=2.0, y=3.0)))",
            ),
        ],
        [{"kind": "oval", "radius": 1}, {"kind": "box", "radius": 1}, {}, "box"],
    ),
    "nested": (BOX, [], [{"kind": "box", "corners": [{"x": 1}, {"x": "2"}]}]),
    "items": ({"type": "array", "items": POINT}, [([], "[]"), ([{"x": 1}], "[Point(x=1.0, y=0.0)]")], [[1], {}]),
    "unique": ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [([2, 1.0], "{1, 2}")], [["a"]]),
    "frozen": ({"type": "array", "items": COLOUR, "uniqueItems": True}, [(["red"], f"frozenset({{{RED}}})")], [["x"]]),
    "fixed": (
        {"type": "array", "prefixItems": [{"type": "integer"}, COLOUR], "minItems": 2, "maxItems": 2},
        [([1, "red"], f"(1, {RED})")],
        [[1], [1, "red", 2], ["red", 1]],
    ),
    "any_number": ({"type": "array", "items": {"type": "integer"}}, [([1, 2], "(1, 2)")], [["x"]]),
    "mapping": (
        {"type": "object", "additionalProperties": POINT},
        [({"a b": {"x": 1}}, "{'a b': Point(x=1.0, y=0.0)}")],
        [{"a": 1}, []],
    ),
    "by_integer": (
        {"type": "object", "propertyNames": {"pattern": "^-?[0-9]+$"}, "additionalProperties": TEXT},
        [({"-1": "a"}, "{-1: 'a'}")],
        [{"a": "a"}],
    ),
    "by_colour": (
        {
            "type": "object",
            "propertyNames": {"enum": ["red", "blue"], "description": "What it looks like"},
            "additionalProperties": {"type": "integer"},
        },
        [({"red": 1}, f"{{{RED}: 1}}")],
        [{"green": 1}],
    ),
    "colour": (COLOUR, [("red", RED)], ["RED", 1]),
    "level": ({"type": "integer", "enum": [1, 2]}, [(2, "<Level.HIGH: 2>"), (1.0, "<Level.LOW: 1>")], [3, "1", True]),
    "literal": ({"enum": ["a", 1, None]}, [("a", "'a'"), (1, "1"), (None, "None")], ["b", 2]),
    "day": ({"type": "string", "format": "date"}, [("2026-01-31", "datetime.date(2026, 1, 31)")], ["2026-02-31", "today", 1]),
    "clock": (
        {"type": "string", "format": "time"},
        [("12:30:00", "datetime.time(12, 30)"), ("12:30:00Z", "datetime.time(12, 30, tzinfo=datetime.timezone.utc)")],
        ["25:00:00", 12],
    ),
    "moment": (
        {"type": "string", "format": "date-time"},
        [("2026-01-31T12:00:00Z", "datetime.datetime(2026, 1, 31, 12, 0, tzinfo=datetime.timezone.utc)")],
        ["noon", 0],
    ),
    "duration": (
        {"type": "string", "format": "duration"},
        [
            ("P1DT2H", "datetime.timedelta(days=1, seconds=7200)"),
            ("-PT0.5S", "datetime.timedelta(days=-1, seconds=86399, microseconds=500000)"),
        ],
        ["P", "1h", "P1Y", "PT", 3],
    ),
    "identifier": (
        {"type": "string", "format": "uuid"},
        [("00000000-0000-0000-0000-000000000001", "UUID('00000000-0000-0000-0000-000000000001')")],
        ["x", 1],
    ),
    "data": ({"type": "string", "contentEncoding": "base64"}, [("YQ==", "b'a'"), ("", "b''")], ["a", "?", 1]),
    "decimal": (
        {"type": ["string", "number"], "pattern": "^[+-]?[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?$"},
        [("1.10", "Decimal('1.10')"), (0.1, "Decimal('0.1')"), (2, "Decimal('2')")],
        ["NaN", "1,5", True],
    ),
    "path": (TEXT, [("a/b.txt", "a/b.txtTrue")], [1]),
    "expression": ({"type": "string", "format": "regex"}, [("a+", "re.compile('a+')")], ["(", 1]),
    "bounded": (
        {"type": "integer", "minimum": 0, "maximum": 100, "multipleOf": 5, "description": "A percentage"},
        [(5, "5")],
        ["5", 5.5],
    ),
    "text": (
        {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[a-z]+$", "examples": ["ab"]},
        [("ab", "'ab'")],
        [1],
    ),
    "few": ({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, [([1], "[1]")], [1]),
    "large": ({"type": "integer"}, [(9223372036854775807, "9223372036854775807"), (10.0, "10")], [1.5, "1", True, None]),
    "floating": ({"type": "number"}, [(1, "1.0"), (0.5, "0.5")], ["1", True]),
    "truth": ({"type": "boolean"}, [(True, "True")], [1, "true"]),
    "anything": ({}, [({"a": [None]}, "{'a': [None]}")], []),
    "json_value": ({}, [([1], "[1]")], []),
    "recursive": (
        {"$ref": "#/$defs/Tree"},
        [({"value": 1, "children": [{"value": 2}]}, "Tree(value=1, children=[Tree(value=2, children=[])])")],
        [{"value": 1, "children": [{"value": "x"}]}],
    ),
    "generic": (
        record(items={"type": "array", "items": {"type": "string", "format": "date"}}),
        [({"items": ["2026-01-31"]}, "Page(items=[datetime.date(2026, 1, 31)])")],
        [{"items": ["x"]}],
    ),
    "inherited": (
        record(
            ["name"],
            name=TEXT,
            parent={"anyOf": [NAMED, {"type": "null"}]},
            tags={"type": "array", "items": TEXT, "description": "Words", "default": []},
        ),
        [({"name": "a", "parent": {"name": "b"}}, "Child(name='a', parent=Named(name='b'), tags=[])")],
        [{"parent": None}, {"name": "a", "age": 1}],
    ),
    "empty": (record(), [({}, "Nothing()")], [{"a": 1}, []]),
    "refused": (
        record(start={"type": "integer"}, end={"type": "integer"}),
        [({"start": 1, "end": 2}, "Span(start=1, end=2)")],
        [{"start": 2, "end": 1}],
    ),
    "named_tuple": (
        {
            "type": "array",
            "prefixItems": [{**TEXT, "description": "left"}, {"type": "integer", "description": "right"}],
            "minItems": 1,
            "maxItems": 2,
        },
        [(["a"], "Pair(left='a', right=0)"), (["a", 1], "Pair(left='a', right=1)")],
        [[], ["a", "b"], {"left": "a"}],
    ),
    "new_type": ({"type": "integer"}, [(1, "1")], ["1"]),
    "typed_dict": (
        record(["id"], depth={"type": "integer"}, since={"type": "string", "format": "date"}, id={"type": "integer"}),
        [({"id": 1, "since": "2026-01-31"}, "{'id': 1, 'since': datetime.date(2026, 1, 31)}")],
        [{"depth": 1}, {"id": 1, "since": "x"}, {"id": 1, "x": 1}],
    ),
}

NEW_JSON = {
    "anyOf": [
        {"type": "null"},
        {"type": "boolean"},
        {"type": "number"},
        {"type": "string"},
        {"type": "array", "items": {"$ref": "#/$defs/Json"}},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
    ]
}

# Those of typed_new.py.
NEW_SHAPES: dict[str, tuple[Any, list[tuple[Any, str]], list[Any]]] = {
    "new_alias": ({"$ref": "#/$defs/Json"}, [({"a": [1, None]}, "{'a': [1.0, None]}")], []),
    "new_generic_alias": (
        {
            "type": "array",
            "items": {"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "minItems": 2, "maxItems": 2},
        },
        [([["a", 1]], "[('a', 1)]")],
        [[[1, "a"]]],
    ),
    "new_generic": (
        {"$ref": "#/$defs/Chunk_int"},
        [({"items": [1], "next": {"items": [2]}}, "Chunk(items=[1], next=Chunk(items=[2], next=None))")],
        [{"items": ["a"]}],
    ),
    "defined_below": (record(n={"type": "integer"}), [({"n": 1}, "Below(n=1)")], [{}]),
}

# Whole calls: the arguments and what arrives; None if they are refused.
CALLS: list[tuple[str, dict[str, Any], str | None]] = [
    ("optional", {}, "'d'"),
    ("optional", {"x": "a"}, "'a'"),
    ("optional", {"x": None}, None),
    ("optional_and_nullable", {}, "None"),
    ("optional_and_nullable", {"x": None}, "None"),
    ("optional_and_nullable", {"x": {"x": 1}}, "Point(x=1.0, y=0.0)"),
    ("none_by_default", {"x": None}, "None"),
    ("none_by_default", {"x": 1}, "1"),
    ("alias", {"$ref": "a"}, "'a'"),
    ("alias", {"x": "a"}, None),
    ("keyword_like", {"from": "a", "class": 1}, "('a', 1)"),
    ("keyword_like", {"from_": "a"}, None),
    ("by_position", {"x": 1}, "(1, 2, '/')"),
    ("no_arguments", {}, "none"),
    ("no_arguments", {"x": 1}, None),
    (
        "defaults",
        {},
        f"(1, 0.5, True, 'é', (1, 2), {RED}, datetime.date(2026, 1, 31), Point(x=1.0, y=0.0), None, "
        "datetime.timedelta(seconds=5400))",
    ),
]

DEFAULTS = record(
    [],
    a={"type": "integer", "default": 1},
    b={"type": "number", "default": 0.5},
    c={"type": "boolean", "default": True},
    d={"type": "string", "default": "é"},
    e={"type": "array", "items": {"type": "integer"}, "default": [1, 2]},
    f={**COLOUR, "default": "red"},
    g={"type": "string", "format": "date", "default": "2026-01-31"},
    h={**POINT, "default": {"x": 1.0, "y": 0.0}},
    i={"anyOf": [{"type": "object", "additionalProperties": {"type": "integer"}}, {"type": "null"}]},
    j={"type": "string", "format": "duration", "default": "PT1H30M"},
)
