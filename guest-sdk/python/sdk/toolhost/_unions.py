"""Types of which a value has one."""

from typing import TYPE_CHECKING, Any

from ._mismatch import Mismatch, shown

if TYPE_CHECKING:
    from ._types import Reader, Shape

_NULL = {"type": "null"}
_SCALARS = ("string", "integer", "number", "boolean")


class Union:
    """Chooses the member that fits a value: by the kind of JSON, then by a field with a literal, then by trying."""

    def __init__(self, members: "list[Shape]") -> None:
        self._members = members
        self._readers: dict[type, Reader] = {}

    def schema(self) -> dict[str, Any]:
        schemas = [it.schema for it in self._members]
        others = [it for it in schemas if it != _NULL]
        if {} in others:
            return {}
        if len(others) == len(schemas) or len(others) != 1:
            return {"anyOf": schemas}
        one = others[0]
        # A `const` or `enum` would have to contain null as well.
        if one.get("type") in _SCALARS and not {"const", "enum"} & one.keys():
            return {**one, "type": [one["type"], "null"]}
        return {"anyOf": [one, _NULL]}

    def complete(self, definitions: dict[str, Any]) -> None:
        """Prepares the choice."""
        kinds = dict.fromkeys(kind for it in self._members for kind in it.takes)
        for kind in kinds:
            # 5 is rather an integer than a number, whichever stands first.
            members = sorted((it for it in self._members if kind in it.takes), key=lambda it: it.takes.index(kind))
            if kind is dict and len(members) > 1 and (chosen := _by_literal(members, definitions)):
                self._readers[kind] = chosen
            else:
                self._readers[kind] = members[0].read if len(members) == 1 else _first_that_fits(members)

    def read(self, value: Any) -> Any:
        reader = self._readers.get(type(value))
        if reader is None:
            raise Mismatch(f"is {shown(value)}, which fits none of its types")
        return reader(value)


def _first_that_fits(members: "list[Shape]") -> "Reader":
    readers = [it.read for it in members]

    def read(value: Any) -> Any:
        reasons = []
        for it in readers:
            try:
                return it(value)
            except Mismatch as error:
                reasons.append(str(error))
        raise Mismatch(f"fits none of its types: {'; '.join(dict.fromkeys(reasons))}")

    return read


def _by_literal(members: "list[Shape]", definitions: dict[str, Any]) -> "Reader | None":
    """Returns a reader that looks at the field whose literal tells the members apart."""
    tables = [_literals(it.schema, definitions) for it in members]
    for name in tables[0]:
        values = [value for table in tables for value in table.get(name, ())]
        if not all(name in table for table in tables) or len({*values}) != len(values):
            continue
        readers = {value: it.read for it, table in zip(members, tables) for value in table[name]}

        def read(value: Any, name: str = name, readers: "dict[Any, Reader]" = readers) -> Any:
            tag = value.get(name)
            reader = readers.get(tag) if isinstance(tag, (str, int)) else None
            if reader is None:
                raise Mismatch(f"is {shown(tag)}: it is one of {', '.join(map(repr, readers))}").within(name)
            return reader(value)

        return read
    return None


def _literals(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, list[Any]]:
    """Returns the literals of required fields, by name."""
    schema = definitions.get(schema.get("$ref", "").rpartition("/")[2], schema)
    found = {}
    for name in schema.get("required", ()):
        field = schema["properties"][name]
        values = [field["const"]] if "const" in field else field.get("enum", [])
        if values:
            found[name] = values
    return found
