"""Classes with fields: dataclasses, typed dicts, named tuples, attrs, and models of pydantic."""

import dataclasses
import inspect
import keyword
import sys
import typing
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from ._docstring import Docs, docs_of
from ._mismatch import CannotSay, Mismatch
from ._param import described, renamed
from ._scope import Scope

MISSING: Any = dataclasses.MISSING

_QUALIFIERS = {
    getattr(typing, name): name for name in ("Required", "NotRequired", "ReadOnly", "Final") if hasattr(typing, name)
}


class Field(NamedTuple):
    """A field of a class, or a parameter of a function."""

    name: str
    annotation: Any
    scope: Scope
    is_required: bool = True
    default: Any = MISSING
    metadata: tuple[Any, ...] = ()
    is_argument: bool = True
    """Whether the class is made with it; else it has it afterwards."""
    is_stored: bool = True
    """Whether an object of the class has it afterwards."""
    may_be_absent: bool = False
    """Whether an object of the class may be without it."""

    attribute: str = ""
    """Its name in the object, where it is not `name`."""

    def key(self) -> str:
        """Returns its name for the model."""
        for it in (*self.metadata, *self._inside()):
            if alias := renamed(it):
                return alias
        stem = self.name.removesuffix("_")
        return stem if keyword.iskeyword(stem) else self.name

    def description(self) -> str | None:
        """Returns what the field itself says, and not its type."""
        texts = (described(it) for it in reversed((*self._inside(), *self.metadata)))
        return next(filter(None, texts), None)

    def _inside(self) -> tuple[Any, ...]:
        annotation = self.scope.evaluated(self.annotation)
        return annotation.__metadata__ if typing.get_origin(annotation) is Annotated else ()


class Record(NamedTuple):
    """The fields of a class, and how one is made of them."""

    kind: Any
    arguments: tuple[Any, ...]
    name: str
    fields: list[Field]
    docs: Docs
    make: Callable[[dict[str, Any]], Any]
    """Makes one of the values of its fields, by their names."""
    parse: Callable[[dict[str, Any]], Any] | None = None
    """Makes one of a JSON object, for a class that converts by itself."""
    is_open: bool = False
    """Whether it takes fields that it does not declare."""


def record_of(kind: type, arguments: tuple[Any, ...] = ()) -> Record | None:
    """Returns the fields of a class; None for one without."""
    if dataclasses.is_dataclass(kind):
        fields, make = _of_dataclass(kind, arguments), lambda values: kind(**values)
    elif typing.is_typeddict(kind):
        fields, make = _of_typed_dict(kind, arguments), lambda values: values
    elif issubclass(kind, tuple) and hasattr(kind, "_field_defaults"):
        fields, make = _of_named_tuple(kind, arguments), lambda values: kind(**values)
    elif "__attrs_attrs__" in dir(kind):
        fields, make = _of_attrs(kind, arguments), lambda values: kind(**values)
    elif hasattr(kind, "model_fields") and hasattr(kind, "model_validate"):
        return _of_pydantic_2(kind)
    elif hasattr(kind, "__fields__") and hasattr(kind, "parse_obj"):
        return _of_pydantic_1(kind)
    else:
        return None
    name = "_".join([kind.__name__, *(getattr(it, "__name__", "") for it in arguments)]).rstrip("_")
    return Record(kind, arguments, name, fields, docs_of(kind), make)


def _of_dataclass(kind: Any, arguments: tuple[Any, ...]) -> list[Field]:
    annotations = _annotations(kind, arguments)
    fields = []
    for field in kind.__dataclass_fields__.values():
        # ClassVar and InitVar are fields of a sort.
        sort = field._field_type.name
        if sort == "_FIELD_CLASSVAR":
            continue
        annotation, scope = annotations.get(field.name, (field.type, Scope.of_class(kind)))
        annotation = scope.evaluated(annotation)
        if isinstance(annotation, dataclasses.InitVar):
            annotation = annotation.type
        factory = field.default_factory
        default = factory() if factory in (list, dict, set, tuple, frozenset) else field.default
        text = getattr(field, "doc", None)
        fields.append(
            Field(
                field.name,
                _without_qualifiers(annotation)[0],
                scope,
                is_required=field.default is MISSING and factory is MISSING,
                default=default,
                metadata=(*([text] if isinstance(text, str) else []), *([field.metadata] if field.metadata else [])),
                is_argument=field.init,
                is_stored=sort != "_FIELD_INITVAR",
            )
        )
    return fields


def _of_typed_dict(kind: Any, arguments: tuple[Any, ...]) -> list[Field]:
    fields = []
    scope = Scope.of_class(kind)
    scope.variables = {name: it for variables in _variables(kind, arguments).values() for name, it in variables.items()}
    for name, annotation in _own_annotations(kind).items():
        annotation, qualifiers = _without_qualifiers(scope.evaluated(annotation))
        is_required = name in kind.__required_keys__ or "Required" in qualifiers
        is_required = is_required and "NotRequired" not in qualifiers
        fields.append(_Named(name, annotation, scope, is_required, may_be_absent=not is_required))
    return fields


class _Named(Field):
    """A key of a typed dict, which may be any text."""

    def key(self) -> str:
        return self.name


def _of_named_tuple(kind: Any, arguments: tuple[Any, ...]) -> list[Field]:
    annotations = _annotations(kind, arguments)
    defaults = kind._field_defaults
    if untyped := [name for name in kind._fields if name not in annotations]:
        raise CannotSay(f"the field `{untyped[0]}` of {kind.__name__} has no type: use typing.NamedTuple")
    return [Field(name, *annotations[name], name not in defaults, defaults.get(name, MISSING)) for name in kind._fields]


def _of_attrs(kind: Any, arguments: tuple[Any, ...]) -> list[Field]:
    attr = sys.modules["attr"]
    annotations = _annotations(kind, arguments)
    fields = []
    for it in kind.__attrs_attrs__:
        annotation, scope = annotations.get(it.name, (it.type, Scope.of_class(kind)))
        if annotation is None:
            raise CannotSay(f"the field `{it.name}` of {kind.__name__} has no type")
        is_made = isinstance(it.default, attr.Factory)
        metadata = ({"alias": it.alias, **it.metadata},) if it.metadata or it.alias != it.name else ()
        default = MISSING if is_made or it.default is attr.NOTHING else it.default
        fields.append(
            Field(it.alias, annotation, scope, it.default is attr.NOTHING, default, metadata, it.init, attribute=it.name)
        )
    return fields


def _of_pydantic_2(kind: Any) -> Record:
    if "root" in kind.model_fields and kind.__pydantic_root_model__:
        raise CannotSay(f"the model {kind.__name__} has a root: use its type instead")
    fields = []
    for name, it in kind.model_fields.items():
        # Its own objects for "no default" are not JSON.
        default = MISSING if it.is_required() or it.default_factory else it.default
        metadata = ({"alias": it.validation_alias or it.alias}, *it.metadata, it)
        fields.append(Field(name, it.annotation, Scope.of_class(kind), it.is_required(), default, metadata))
    is_open = kind.model_config.get("extra") == "allow"
    return Record(kind, (), kind.__name__, fields, docs_of(kind), kind, _refusing(kind.model_validate), is_open)


def _of_pydantic_1(kind: Any) -> Record:
    if "__root__" in kind.__fields__:
        raise CannotSay(f"the model {kind.__name__} has a __root__: use its type instead")
    fields = []
    for it in kind.__fields__.values():
        annotation = typing.Optional[it.outer_type_] if it.allow_none else it.outer_type_
        default = MISSING if it.required or it.default_factory else it.default
        metadata = ({"alias": it.alias}, it.field_info)
        is_required = it.required is not False
        fields.append(Field(it.name, annotation, Scope.of_class(kind), is_required, default, metadata))
    is_open = getattr(kind.__config__.extra, "value", kind.__config__.extra) == "allow"
    return Record(kind, (), kind.__name__, fields, docs_of(kind), kind, _refusing(kind.parse_obj), is_open)


def _refusing(parse: Callable[[Any], Any]) -> Callable[[dict[str, Any]], Any]:
    """Converts the errors of pydantic."""

    def read(value: dict[str, Any]) -> Any:
        try:
            return parse(value)
        except ValueError as error:
            [first, *_] = error.errors()  # type: ignore[attr-defined]
            mismatch = Mismatch(f"is refused: {first['msg']}")
            mismatch.path = [*first["loc"]]
            raise mismatch from None

    return read


def _without_qualifiers(annotation: Any) -> tuple[Any, list[str]]:
    """Removes what says something of the field and not of its values."""
    qualifiers = []
    while True:
        inner = typing.get_args(annotation)
        if (origin := typing.get_origin(annotation)) in _QUALIFIERS:
            qualifiers.append(_QUALIFIERS[origin])
            annotation = inner[0]
        elif origin is Annotated and typing.get_origin(inner[0]) in _QUALIFIERS:
            qualifiers.append(_QUALIFIERS[typing.get_origin(inner[0])])
            annotation = Annotated[(typing.get_args(inner[0])[0], *annotation.__metadata__)]  # type: ignore[assignment]
        else:
            return annotation, qualifiers


def _annotations(kind: type, arguments: tuple[Any, ...]) -> dict[str, tuple[Any, Scope]]:
    """Returns the annotations of a class and its bases, each with the names where it stands."""
    variables = _variables(kind, arguments)
    found: dict[str, tuple[Any, Scope]] = {}
    for base in reversed(kind.__mro__):
        scope = Scope.of_class(base)
        scope.variables = variables.get(base, {})
        for name, annotation in _own_annotations(base).items():
            found[name] = (annotation, scope)
    return found


def _own_annotations(kind: type) -> dict[str, Any]:
    try:
        return inspect.get_annotations(kind)
    except NameError as error:
        raise CannotSay(f"`{error.name}` in an annotation of {kind.__name__} is not defined") from None


def _variables(kind: Any, arguments: tuple[Any, ...]) -> dict[type, dict[Any, Any]]:
    """Returns what the type variables stand for, for a generic class and each of its bases."""
    parameters = getattr(kind, "__parameters__", ()) or getattr(kind, "__type_params__", ())
    found: dict[type, dict[Any, Any]] = {kind: dict(zip(parameters, arguments))}
    scope = Scope({})
    scope.variables = found[kind]
    for base in vars(kind).get("__orig_bases__", ()):
        origin = typing.get_origin(base)
        if origin not in (None, typing.Generic, getattr(typing, "Protocol", None)):
            found |= _variables(origin, tuple(scope.resolved(it) for it in typing.get_args(base)))
    return found
