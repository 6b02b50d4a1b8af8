"""Functions whose parameters are the arguments of a tool."""

import inspect
import typing
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

from . import _place
from ._answer import Pending
from ._context import Context
from ._docstring import Docs, docs_of
from ._failure import ToolError
from ._mismatch import CannotSay, Mismatch
from ._objects import object_shape
from ._plain import typed_json
from ._records import MISSING, Field
from ._scope import Scope
from ._types import Types

class Typed(NamedTuple):
    """A function as a handler."""

    call: Callable[[Context, Any], Any]
    description: str | None
    parameters: dict[str, Any]
    output_schema: dict[str, Any] | None
    write: Callable[[Any], str]
    """Writes a result as JSON."""


def typed(function: FunctionType, description: str | None) -> Typed:
    """Reads the annotations of a function, or raises CannotSay."""
    inside = inspect.unwrap(function)
    scope = Scope.of_function(inside)
    place = partial(_place.of_parameter, inside)
    docs = docs_of(inside)
    fields, context, positional = _parameters(function, scope, place)
    # A decorator may give the function some of its parameters.
    own = inside.__code__
    names = {*_signature(function).parameters, *own.co_varnames[: own.co_argcount + own.co_kwonlyargcount]}
    _refuse_unknown_names(inside, docs, sorted(names))
    types = Types()

    def arguments(values: dict[str, Any]) -> dict[str, Any]:
        return values

    with _place.around(lambda: place("")):
        parameters, read, _ = object_shape(types, fields, docs, arguments, place)
        types.finish()
    if types.definitions:
        parameters["$defs"] = types.definitions
    with _place.around(lambda: place("return")):
        output_schema = _output_schema(inside, scope)

    def call(ctx: Context, input: Any) -> Any:
        try:
            values = read(input)
        except Mismatch as error:
            raise _wrong_argument(error) from None
        if context is not None:
            values[context] = ctx
        if positional:
            return function(*[values.pop(name) for name in positional if name in values], **values)
        return function(**values)

    return Typed(call, description or docs.text, parameters, output_schema, typed_json)


def _refuse_unknown_names(function: FunctionType, docs: Docs, names: list[str]) -> None:
    """Refuses a docstring that describes parameters which a function has not: a model would not read it."""
    for name in docs.of:
        if name in names:
            continue
        with _place.around(lambda: _place.in_docstring(function, name)):
            import difflib

            similar = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean `{similar[0]}`?" if similar else f"its parameters are {', '.join(names) or 'none'}"
            raise CannotSay(f"the docstring describes `{name}`, which is no parameter: {hint}")


def _signature(function: Any) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except NameError as error:
        raise CannotSay(f"`{error.name}` in an annotation is not defined at the top of its module") from None


def _parameters(
    function: Any, scope: Scope, place: Callable[[str], _place.Place]
) -> tuple[list[Field], str | None, list[str]]:
    """Returns the arguments, the name of the context's parameter, and the names that are given by position only."""
    fields: list[Field] = []
    context = None
    positional = []
    for name, it in _signature(function).parameters.items():
        with _place.around(lambda: place(name)):
            if it.kind in (it.VAR_POSITIONAL, it.VAR_KEYWORD):
                raise CannotSay(f"`{it}` takes any arguments: name each parameter, or take a list or a dict")
            if it.annotation is it.empty:
                hint = "ctx: Context" if name in ("ctx", "context") else f"{name}: str"
                raise CannotSay(f"the parameter `{name}` has no type: write `{hint}` or another type")
            annotation = scope.evaluated(it.annotation)
            if it.kind is it.POSITIONAL_ONLY:
                positional.append(name)
            if annotation is Context or Context in typing.get_args(annotation):
                context = name
                continue
            default = MISSING if it.default is it.empty else it.default
            if type(default).__name__ in ("Param", "FieldInfo"):
                raise CannotSay(f"the default of `{name}` is a description: write `{name}: Annotated[T, Param(...)]`")
            fields.append(Field(name, annotation, scope, default is MISSING, default))
    return fields, context, positional


def _output_schema(function: Any, scope: Scope) -> dict[str, Any] | None:
    """Returns the schema of a result that is an object; None for another result."""
    annotation = scope.evaluated(_signature(function).return_annotation)
    if annotation in (inspect.Signature.empty, None, Any, object):
        return None
    members = [it for it in typing.get_args(annotation) if it is not Pending]
    if Pending in typing.get_args(annotation):
        annotation = typing.Union[tuple(members)]
    elif annotation is Pending:
        return None
    types = Types(is_result=True)
    shape = types.shape(annotation, scope)
    types.finish()
    if {*shape.takes} != {dict}:
        return None
    # A client of MCP wants to read at the top that it is an object.
    schema = {"type": "object", **types.definitions.get(shape.schema.get("$ref", "").rpartition("/")[2], shape.schema)}
    return {**schema, "$defs": types.definitions} if types.definitions else schema


def _wrong_argument(error: Mismatch) -> ToolError:
    if error.path:
        message, what = f"the argument {error}", "argument"
    else:
        message, what = f"the call {error}", "arguments"
    suggestion = f"correct the {what} and call again"
    return ToolError(message, name="ArgumentError", code="INVALID_ARGUMENT", suggestion=suggestion)
