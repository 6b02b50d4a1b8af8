"""Where in the author's files a type stands that cannot be said. The files are read only then."""

import contextlib
import linecache
import re
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ._mismatch import CannotSay

if TYPE_CHECKING:
    import ast

Place = tuple[str | None, int | None]


@contextlib.contextmanager
def around(place: Callable[[], Place]) -> Iterator[None]:
    """Gives an error its place, unless it has one further inside."""
    try:
        yield
    except CannotSay as error:
        if error.file is None:
            error.file, error.line = place()
        raise


def of_parameter(function: FunctionType, name: str) -> Place:
    """Returns the place of a parameter, or of the result if the name is `return`."""
    import ast

    code = function.__code__
    for node in ast.walk(_parsed(code.co_filename)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != code.co_name:
            continue
        first = node.decorator_list[0] if node.decorator_list else node
        if code.co_firstlineno not in (first.lineno, node.lineno):
            continue
        every = node.args
        for argument in (*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg):
            if argument is not None and argument.arg == name:
                return code.co_filename, argument.lineno
        return code.co_filename, node.returns.lineno if name == "return" and node.returns else node.lineno
    return code.co_filename, code.co_firstlineno


def in_docstring(function: FunctionType, name: str) -> Place:
    """Returns the place where a docstring describes a parameter."""
    code = function.__code__
    head = re.compile(rf"\s*(:\w+\s([^:]*\s)?)?\*{{0,2}}{re.escape(name)}\b")
    for line, text in enumerate(linecache.getlines(code.co_filename), 1):
        if line > code.co_firstlineno and head.match(text):
            return code.co_filename, line
    return code.co_filename, code.co_firstlineno


def of_field(kind: type, name: str) -> Place:
    """Returns the place of a field of a class, which a base of it may declare."""
    import ast

    for base in kind.__mro__:
        module = sys.modules.get(base.__module__)
        file = getattr(module, "__file__", None)
        body: list[Any] = _parsed(file).body if file else []
        for part in base.__qualname__.split("."):
            body = next((it.body for it in body if isinstance(it, ast.ClassDef) and it.name == part), [])
        for node in body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
                return file, node.lineno
    return None, None


def _parsed(file: str) -> "ast.Module":
    import ast

    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ast.Module([], [])
