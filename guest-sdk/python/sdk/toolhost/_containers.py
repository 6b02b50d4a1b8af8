"""Lists, sets, tuples and mappings."""

import collections
import collections.abc as abc
from typing import TYPE_CHECKING, Any, get_origin

from ._mismatch import CannotSay, Mismatch, shown
from ._scalars import as_is, integer
from ._scope import Scope

if TYPE_CHECKING:
    from ._types import Made, Reader, Types

# What is made of the items.
_LISTS: dict[type, Any] = {
    list: list,
    collections.deque: collections.deque,
    abc.Sequence: list,
    abc.MutableSequence: list,
    abc.Collection: list,
    abc.Iterable: list,
}
_SETS: dict[type, Any] = {set: set, frozenset: frozenset, abc.Set: frozenset, abc.MutableSet: set}
_MAPPINGS: dict[type, Any] = {
    dict: dict,
    abc.Mapping: dict,
    abc.MutableMapping: dict,
    collections.OrderedDict: collections.OrderedDict,
}


def shape_of(types: "Types", kind: type, arguments: tuple[Any, ...], scope: Scope) -> "Made | None":
    """Returns the schema, the reader and the JSON type of a container; None for another class."""
    if kind in _LISTS:
        return _list(types, arguments, scope, _LISTS[kind])
    if kind in _SETS:
        return _set(types, arguments, scope, _SETS[kind])
    if kind is tuple:
        return _tuple(types, arguments, scope)
    if kind in _MAPPINGS:
        return _mapping(types, arguments, scope, _MAPPINGS[kind])
    if kind in (collections.defaultdict, collections.Counter):
        raise CannotSay(f"{kind.__name__} cannot be an argument: use dict")
    return None


def _items(read: "Reader") -> "Reader":
    """Returns a reader of all items of a list."""

    def read_items(value: Any) -> list[Any]:
        if type(value) is not list:
            raise Mismatch(f"is {shown(value)}, not a list")
        made: list[Any] = []
        try:
            for item in value:
                made.append(read(item))
        except Mismatch as error:
            raise error.within(len(made))
        return made

    return read_items


def _list(types: "Types", arguments: tuple[Any, ...], scope: Scope, make: Any) -> "Made":
    item = types.shape(arguments[0], scope) if arguments else types.shape(Any, scope)
    schema = {"type": "array", **({"items": item.schema} if item.schema else {})}
    read = _items(item.read)
    return schema, read if make is list else lambda value: make(read(value)), (list,)


def _set(types: "Types", arguments: tuple[Any, ...], scope: Scope, make: Any) -> "Made":
    schema, read, takes = _list(types, arguments, scope, list)
    item = scope.resolved(arguments[0]) if arguments else None
    if getattr(get_origin(item) or item, "__hash__", hash) is None:
        raise CannotSay(f"a set cannot hold {shown(item)}: use a list, or @dataclass(frozen=True)")

    def read_set(value: Any) -> Any:
        try:
            return make(read(value))
        except TypeError as error:
            raise Mismatch(f"is {shown(value)}: {error}") from None

    return {**schema, "uniqueItems": True}, read_set, takes


def _tuple(types: "Types", arguments: tuple[Any, ...], scope: Scope) -> "Made":
    if not arguments or (len(arguments) == 2 and arguments[1] is Ellipsis):
        return _list(types, arguments[:1], scope, tuple)
    # In Python 3.10, tuple[()] has one argument, ().
    shapes = [types.shape(it, scope) for it in arguments if it != ()]
    size = len(shapes)
    schema: dict[str, Any] = {"type": "array"}
    if size:
        schema |= {"prefixItems": [it.schema for it in shapes], "minItems": size}
    readers = [it.read for it in shapes]
    return {**schema, "maxItems": size}, fixed_items(readers, size, tuple), (list,)


def fixed_items(readers: "list[Reader]", least: int, make: Any) -> "Reader":
    """Returns a reader of a list with a type for each place, of which the last may be missing."""
    most = len(readers)

    def read(value: Any) -> Any:
        if type(value) is not list or not least <= len(value) <= most:
            count = f"{least}" if least == most else f"{least} to {most}"
            raise Mismatch(f"is {shown(value)}, not a list of {count} items")
        made: list[Any] = []
        try:
            for item_read, item in zip(readers, value):
                made.append(item_read(item))
        except Mismatch as error:
            raise error.within(len(made))
        return make(made)

    return read


def _mapping(types: "Types", arguments: tuple[Any, ...], scope: Scope, make: Any) -> "Made":
    key, item = (types.shape(it, scope) for it in arguments or (str, Any))
    schema: dict[str, Any] = {"type": "object"}
    read_key = key.read
    if int in key.takes and str not in key.takes:
        if key.schema != {"type": "integer"}:
            raise CannotSay("a key of a mapping is a text: use str, int or an Enum of texts")
        schema["propertyNames"] = {"pattern": "^-?[0-9]+$"}
        read_key = _key_of_integer
    elif str not in key.takes:
        raise CannotSay("a key of a mapping is a text: use str, int or an Enum of texts")
    elif key.schema not in ({"type": "string"}, {}):
        schema["propertyNames"] = {name: it for name, it in key.schema.items() if name != "type"}
    if item.schema:
        schema["additionalProperties"] = item.schema
    read_item = item.read

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise Mismatch(f"is {shown(value)}, not an object")
        made = make()
        name = ""
        try:
            for name, it in value.items():
                made[read_key(name)] = read_item(it)
        except Mismatch as error:
            raise error.within(name)
        return made

    return schema, read, (dict,)


def _key_of_integer(name: str) -> int:
    try:
        return integer(int(name))
    except ValueError:
        raise Mismatch(f"is the key {name!r}, not an integer") from None
