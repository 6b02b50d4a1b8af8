"""JSON objects that are classes with fields, or the arguments of a function."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _place
from ._containers import fixed_items
from ._docstring import Docs
from ._mismatch import CannotSay, Mismatch, shown
from ._param import beyond
from ._records import MISSING, Field, Record

if TYPE_CHECKING:
    from ._types import Made, Reader, Shape, Types


def record_shape(types: "Types", record: Record) -> "Made":
    """Returns the schema and the reader of a class with fields."""
    place = functools.partial(_place.of_field, record.kind)
    if issubclass(record.kind, tuple):
        made = _tuple(types, record, place)
    else:
        schema, read, takes = object_shape(types, record.fields, record.docs, _checked(record.make), place)
        if record.is_open:
            del schema["additionalProperties"]
        made = schema, read if record.parse is None else _parser(record.parse), takes
    if record.docs.text:
        made[0]["description"] = record.docs.text
    return made


def object_shape(
    types: "Types",
    fields: list[Field],
    docs: Docs,
    make: Callable[[dict[str, Any]], Any],
    place: Callable[[str], _place.Place],
) -> "Made":
    """Returns the schema of an object with these fields, and a reader that makes something of it."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    readers: dict[str, tuple[str, Reader]] = {}
    for field in fields:
        if not (field.is_stored if types.is_result else field.is_argument):
            continue
        with _place.around(lambda: place(field.name)):
            key = field.key()
            if key in properties:
                raise CannotSay(f"two fields have the name `{key}` for the model")
            shape = _field_shape(types, field, docs, place)
        properties[key] = shape.schema
        readers[key] = (field.name, shape.read)
        if not field.may_be_absent if types.is_result else field.is_required:
            required.append(key)
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema, _reader(readers, required, make), (dict,)


def _field_shape(types: "Types", field: Field, docs: Docs, place: Callable[[str], _place.Place]) -> "Shape":
    shape = types.with_metadata(types.shape(field.annotation, field.scope), field.metadata)
    # The type may have a docstring, which says less of this field.
    if text := field.description() or docs.of.get(field.name):
        shape = shape._replace(schema={**shape.schema, "description": text})
    if types.is_result or field.default is MISSING:
        return shape
    if field.default is None:
        return types.or_none(shape)

    def add_default() -> None:
        with _place.around(lambda: place(field.name)):
            default = types.plain(field.default)
            try:
                shape.read(default)
            except Mismatch as error:
                raise CannotSay(f"the default of `{field.name}` {error}") from None
            if bound := beyond(shape.schema, default):
                raise CannotSay(f"the default of `{field.name}` is {shown(default)}, beyond its {bound}")
            shape.schema["default"] = default

    types.later(add_default)
    return shape


def _reader(
    readers: "dict[str, tuple[str, Reader]]", required: list[str], make: Callable[[dict[str, Any]], Any]
) -> "Reader":
    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise Mismatch(f"is {shown(value)}, not an object")
        made: dict[str, Any] = {}
        key = ""
        try:
            for key, item in value.items():
                name, read_item = readers[key]
                made[name] = read_item(item)
        except KeyError:
            if key in readers:
                raise
            raise Mismatch(f"has no field `{key}`: its fields are {', '.join(readers)}") from None
        except Mismatch as error:
            raise error.within(key)
        for key in required:
            if key not in value:
                raise Mismatch(f"lacks the field `{key}`")
        return make(made)

    return read


def _checked(make: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """A class may refuse values when it is made, such as in `__post_init__`."""

    def made(values: dict[str, Any]) -> Any:
        try:
            return make(values)
        except (ValueError, AssertionError) as error:
            raise Mismatch(f"is refused: {error}") from error

    return made


def _parser(parse: Callable[[dict[str, Any]], Any]) -> "Reader":
    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise Mismatch(f"is {shown(value)}, not an object")
        return parse(value)

    return read


def _tuple(types: "Types", record: Record, place: Callable[[str], _place.Place]) -> "Made":
    items = []
    readers = []
    for field in record.fields:
        with _place.around(lambda: place(field.name)):
            shape = types.shape(field.annotation, field.scope)
        text = shape.schema.get("description") or record.docs.of.get(field.name)
        items.append({**shape.schema, "description": f"{field.name}: {text}" if text else field.name})
        readers.append(shape.read)
    least = len(items) if types.is_result else sum(field.is_required for field in record.fields)
    schema = {"type": "array", "prefixItems": items, "minItems": least, "maxItems": len(items)}
    return schema, fixed_items(readers, least, lambda values: record.kind(*values)), (list,)
