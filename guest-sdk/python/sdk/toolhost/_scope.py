"""Names and type variables where an annotation stands."""

import builtins
import sys
import typing
from collections.abc import Mapping
from typing import Any, ForwardRef, TypeVar

from ._answer import JsonValue
from ._mismatch import CannotSay


class Scope:
    """The names that an annotation may use, and what its type variables stand for."""

    def __init__(self, names: Mapping[str, Any], local: Mapping[str, Any] | None = None) -> None:
        self._names = names
        self._local = local or {}
        self.variables: dict[Any, Any] = {}

    @staticmethod
    def of_module(name: str) -> "Scope":
        module = sys.modules.get(name)
        return Scope(vars(module) if module else {})

    @staticmethod
    def of_class(kind: type) -> "Scope":
        """Returns the scope of a class's body."""
        variables = {it.__name__: it for it in getattr(kind, "__type_params__", ())}
        return Scope(Scope.of_module(kind.__module__)._names, {**variables, **vars(kind), kind.__name__: kind})

    @staticmethod
    def of_function(function: Any) -> "Scope":
        variables = {it.__name__: it for it in getattr(function, "__type_params__", ())}
        return Scope(getattr(function, "__globals__", {}), variables)

    def evaluated(self, annotation: Any) -> Any:
        """Returns the type that an annotation written as a text names."""
        while isinstance(annotation, (str, ForwardRef)):
            # The alias is itself a text.
            if annotation == JsonValue:
                return Any
            source = annotation if isinstance(annotation, str) else annotation.__forward_arg__
            try:
                annotation = eval(source, {**vars(builtins), **self._names}, {**self._local})
            except NameError as error:
                name = error.name if getattr(error, "name", None) else str(error)
                message = f"`{name}` in the annotation `{source}` is not defined at the top of its module"
                raise CannotSay(message) from None
            except Exception as error:
                raise CannotSay(f"the annotation `{source}` fails: {type(error).__name__}: {error}") from None
        return annotation

    def resolved(self, annotation: Any) -> Any:
        """Puts types in the place of type variables."""
        annotation = self.evaluated(annotation)
        if isinstance(annotation, TypeVar):
            return self.variables.get(annotation, annotation)
        parameters = getattr(annotation, "__parameters__", ())
        if isinstance(annotation, type) or not parameters or typing.get_origin(annotation) is None:
            return annotation
        return annotation[tuple(self.variables.get(it, it) for it in parameters)]


def meaning_of(variable: TypeVar) -> Any:
    """Returns what a type variable stands for where nothing names it: its default, its bound or its constraints."""
    if getattr(variable, "has_default", lambda: False)():
        return variable.__default__  # type: ignore[attr-defined]
    if variable.__constraints__:
        return typing.Union[variable.__constraints__]
    return Any if variable.__bound__ is None else variable.__bound__
