"""From a type to a JSON Schema and a function that reads a JSON value as that type.

Both are made once, while the component is built.
"""

import enum
import inspect
import json
import types
import typing
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from . import _containers
from ._mismatch import CannotSay, Mismatch, shown
from ._objects import record_shape
from ._param import described, keywords, with_parts
from ._plain import plain
from ._records import record_of
from ._scalars import SCALARS, Scalar, as_is, as_result, scalar_of, subclass_of_scalar
from ._scope import Scope, meaning_of
from ._unions import Union

Reader = Callable[[Any], Any]
# The parts of a shape.
Made = tuple[dict[str, Any], Reader, tuple[type, ...]]

# Every JSON value.
_ANYTHING = (str, int, float, bool, list, dict, type(None))
# Those that a literal or an Enum may have.
_LITERALS = (str, int, float, bool, type(None))


# What a tool may take in the place of a type, by its name.
_INSTEAD = {
    "complex": "take a tuple[float, float]",
    "Callable": "take the name of the function as a Literal or an Enum",
    "function": "take the name of the function as a Literal or an Enum",
    "type": "take the name of the class as a Literal or an Enum",
    "range": "take a start and an end as two int",
    "slice": "take a start and an end as two int",
    **dict.fromkeys(("Iterator", "Generator", "AsyncIterator", "AsyncGenerator", "AsyncIterable"), "write a list"),
    **dict.fromkeys(("Awaitable", "Coroutine"), "write `async def`, and the type of its result"),
}


class Shape(NamedTuple):
    """A type in JSON."""

    schema: dict[str, Any]
    read: Reader
    takes: tuple[type, ...]
    """The types of the JSON values that it may have, the one that fits best first."""


class _Open:
    """A type that is being read; it may contain itself."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_recursive = False
        self.shape: Shape | None = None


class Types:
    """The types of one function's arguments, or of its result."""

    def __init__(self, *, is_result: bool = False) -> None:
        self.definitions: dict[str, Any] = {}
        self.is_result = is_result
        self._open: dict[Any, _Open] = {}
        self._waiting: list[Callable[[], None]] = []

    def later(self, step: Callable[[], None]) -> None:
        """Takes a step when all types are complete, of which some may contain themselves."""
        self._waiting.append(step)

    def finish(self) -> None:
        for step in self._waiting:
            step()
        self._waiting.clear()

    def plain(self, default: Any) -> Any:
        """Returns a default as JSON."""
        try:
            return json.loads(json.dumps(plain(default), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise CannotSay(f"the default {shown(default)} is not JSON: {error}") from None

    def shape(self, annotation: Any, scope: Scope) -> Shape:
        """Returns the shape of a type, or raises CannotSay."""
        annotation = scope.evaluated(annotation)
        if isinstance(annotation, TypeVar):
            bound = scope.variables.get(annotation, annotation)
            return self.shape(meaning_of(annotation) if bound is annotation else bound, scope)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if annotation in (Any, object):
            return Shape({}, as_is, _ANYTHING)
        if origin is Annotated:
            return self._annotated(annotation, scope)
        if origin is typing.Union or isinstance(annotation, types.UnionType):
            return self._union([*arguments], scope)
        if origin is Literal:
            return self._literal([*arguments])
        if isinstance(annotation, typing.NewType):
            return self.shape(annotation.__supertype__, scope)
        if hasattr(typing, "TypeAliasType") and isinstance(origin or annotation, typing.TypeAliasType):
            return self._alias(annotation, scope)
        if getattr(typing, "LiteralString", None) is annotation:
            return self.shape(str, scope)
        kind = origin or annotation
        if not isinstance(kind, type):
            wrapper = getattr(kind, "__name__", None) or getattr(kind, "_name", None)
            raise CannotSay(f"{wrapper or shown(kind)} has no JSON Schema")
        return self._class(annotation, kind, arguments, scope)

    def _class(self, annotation: Any, kind: type, arguments: tuple[Any, ...], scope: Scope) -> Shape:
        if issubclass(kind, enum.Enum):
            return self._enum(kind)
        if (scalar := scalar_of(kind)) is not None:
            return self._scalar(scalar)
        if (record := record_of(kind, tuple(scope.resolved(it) for it in arguments))) is not None:
            return self._recursive((kind, record.arguments), record.name, lambda: Shape(*record_shape(self, record)))
        if (made := _containers.shape_of(self, kind, arguments, scope)) is not None:
            return Shape(*made)
        if (scalar := subclass_of_scalar(kind)) is not None:
            return self._scalar(scalar)
        name = getattr(kind, "__qualname__", shown(kind)).rpartition("<locals>.")[2]
        if kind.__module__ in ("builtins", "typing", "collections.abc"):
            instead = _INSTEAD.get(name)
            raise CannotSay(f"{name} has no JSON Schema" + (f": {instead}" if instead else ""))
        raise CannotSay(f"the class {name} has no fields: make it a @dataclass, a TypedDict or an Enum")

    def _scalar(self, scalar: Scalar) -> Shape:
        schema = as_result(scalar) if self.is_result else scalar.schema
        return Shape(dict(schema), scalar.read, scalar.takes)

    def _annotated(self, annotation: Any, scope: Scope) -> Shape:
        shape = self.shape(annotation.__origin__, scope)
        return self.with_metadata(shape, annotation.__metadata__)

    def with_metadata(self, shape: Shape, metadata: Iterable[Any]) -> Shape:
        """Adds descriptions and bounds to a schema."""
        schema = dict(shape.schema)
        for it in with_parts(metadata):
            schema |= keywords(it, shape.takes)
            if text := described(it):
                schema["description"] = text
        return shape._replace(schema=schema)

    def or_none(self, shape: Shape) -> Shape:
        """Returns the same type with None."""
        if type(None) in shape.takes:
            return shape
        none = self._scalar(SCALARS[type(None)])
        text = shape.schema.pop("description", None)
        made = self._either([shape, none])
        return made._replace(schema={**made.schema, "description": text}) if text else made

    def _union(self, members: list[Any], scope: Scope) -> Shape:
        return self._either([self.shape(it, scope) for it in members])

    def _either(self, shapes: list[Shape]) -> Shape:
        union = Union(shapes)
        self.later(lambda: union.complete(self.definitions))
        takes = tuple(dict.fromkeys(kind for it in shapes for kind in it.takes))
        return Shape(union.schema(), union.read, takes)

    def _literal(self, values: list[Any]) -> Shape:
        members = {value.value if isinstance(value, enum.Enum) else value: value for value in values}
        return self._one_of(members, f"Literal{shown(values)}")

    def _enum(self, kind: type[enum.Enum]) -> Shape:
        if issubclass(kind, enum.Flag):
            raise CannotSay(f"{kind.__name__} is a set of flags: take a set of an Enum")
        if not kind.__members__:
            raise CannotSay(f"the Enum {kind.__name__} has no members")
        shape = self._one_of({member.value: member for member in kind}, kind.__name__)
        text = vars(kind).get("__doc__")
        # Python 3.10 gives every Enum a docstring.
        if text and text != "An enumeration.":
            shape.schema["description"] = inspect.cleandoc(text)
        return shape

    def _one_of(self, members: dict[Any, Any], name: str) -> Shape:
        kinds = tuple(dict.fromkeys(type(it) for it in members))
        for value in members:
            if type(value) not in _LITERALS:
                raise CannotSay(f"a value of {name} is {shown(value)}: use texts and numbers")
        if kinds == (type(None),):
            return self._scalar(SCALARS[type(None)])
        values = [*members]
        schema: dict[str, Any] = {"type": SCALARS[kinds[0]].schema["type"]} if len(kinds) == 1 else {}
        schema |= {"const": values[0]} if len(values) == 1 else {"enum": values}
        # True equals 1, and 1.0 too: a value is looked up with its type.
        typed = {(type(value), value): member for value, member in members.items()}

        def read(value: Any) -> Any:
            kind = type(value)
            if kind is float and float not in kinds and value.is_integer():
                kind = int
            elif kind is int and int not in kinds:
                kind = float
            try:
                return typed[kind, value]
            except (KeyError, TypeError):
                raise Mismatch(f"is {shown(value)}: it is one of {', '.join(map(repr, values))}") from None

        numbers = {int: float, float: int}
        return Shape(schema, read, tuple(dict.fromkeys([*kinds, *(numbers[it] for it in kinds if it in numbers)])))

    def _alias(self, annotation: Any, scope: Scope) -> Shape:
        alias = typing.get_origin(annotation) or annotation
        arguments = tuple(scope.resolved(it) for it in typing.get_args(annotation))
        inside = Scope.of_module(alias.__module__)
        inside.variables = dict(zip(alias.__type_params__, arguments))
        return self._recursive(
            (alias, arguments), alias.__name__, lambda: self.shape(scope.evaluated(alias.__value__), inside)
        )

    def _recursive(self, key: Any, name: str, make: Callable[[], Shape]) -> Shape:
        """Makes a shape that may contain itself: then it is a definition of the schema."""
        if (outer := self._open.get(key)) is not None:
            outer.is_recursive = True
            return Shape({"$ref": f"#/$defs/{outer.name}"}, lambda value: outer.shape.read(value), _ANYTHING)
        taken = {it.name for it in self._open.values()} | self.definitions.keys()
        unused = next(it for n in range(1, 1000) if (it := name if n == 1 else f"{name}{n}") not in taken)
        self._open[key] = current = _Open(unused)
        try:
            current.shape = shape = make()
        finally:
            del self._open[key]
        if not current.is_recursive:
            return shape
        self.definitions[current.name] = shape.schema
        return shape._replace(schema={"$ref": f"#/$defs/{current.name}"})
