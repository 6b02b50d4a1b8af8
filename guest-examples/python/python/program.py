"""Compiles a script: a module with `return` and `await` at its top level."""

import ast
from collections.abc import Callable
from inspect import CO_ASYNC_GENERATOR, CO_GENERATOR
from types import CodeType
from typing import Any

FILE = "<script>"

_FENCES = ("```", "```py", "```python", "```python3")

_NAME = "__script__"
_NO_ARGUMENTS = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


def script_function(source: str, names: dict[str, Any]) -> Callable[[], Any]:
    """Returns the script as a function, whose variables are in `names`: `async` if it awaits something at its top level.

    It returns what the script returns, or the value of an expression at its end. Raises SyntaxError.
    """
    tree = ast.parse(without_fence(source), FILE)
    body = tree.body
    futures = _futures(body)
    if body and isinstance(last := body[-1], (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise SyntaxError(f"nothing calls `{last.name}`", (FILE, last.lineno, 0, None))
    if body and isinstance(last, ast.Expr):
        body[-1] = ast.copy_location(ast.Return(last.value), last)
    _remove_annotations(body)
    kind, code = _compiled(futures, body)
    inside = next(it for it in code.co_consts if isinstance(it, CodeType))
    if inside.co_flags & (CO_GENERATOR | CO_ASYNC_GENERATOR):
        line = next(it.lineno for it in ast.walk(tree) if isinstance(it, (ast.Yield, ast.YieldFrom)))
        raise SyntaxError("'yield' outside function", (FILE, line, 0, None))
    # The variables of a module are those of all its functions.
    if variables := [*dict.fromkeys(it for it in (*inside.co_varnames, *inside.co_cellvars) if it.isidentifier())]:
        body.insert(0, _placed(ast.Global(variables)))
        code = compile(_module(futures, body, kind), FILE, "exec", dont_inherit=True)
    exec(code, names)
    return names.pop(_NAME)


def unreturned(source: str, names: dict[str, Any]) -> str | None:
    """Returns what to tell of a script that has set a variable at its end, and returned nothing."""
    match ast.parse(without_fence(source)).body[-1:]:
        case [ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(target=ast.Name(name)) | ast.AugAssign(target=ast.Name(name))]:
            if names.get(name) is None:
                return None
        case [ast.If(test=ast.Compare(left=ast.Name("__name__")))]:
            name = "VALUE"
        case _:
            return None
    return f"nothing is returned, so the result is null: end with `return {name}`"


def without_fence(source: str) -> str:
    """Takes off the marks of a Markdown code block around the source, whose lines keep their numbers."""
    head, newline, rest = source.strip().partition("\n")
    if not (newline and head.rstrip() in _FENCES and rest.endswith("```")):
        return source
    above = len(source) - len(source.lstrip())
    return "\n" * (source[:above].count("\n") + 1) + rest.removesuffix("```")


def _futures(body: list[ast.stmt]) -> list[ast.stmt]:
    """Takes the imports from `__future__` out of a body."""
    found = [it for it in body if isinstance(it, ast.ImportFrom) and it.module == "__future__"]
    for each in found:
        body.remove(each)
    return found


def _remove_annotations(body: list[ast.stmt]) -> None:
    """Removes the types of variables that are not in a function or a class: a global variable in a function has none."""
    waiting: list[list[Any]] = [body]
    while waiting:
        body = waiting.pop()
        for index, node in enumerate(body):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                plain = ast.Assign([node.target], node.value) if node.value else ast.Pass()
                body[index] = ast.copy_location(plain, node)
            elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                waiting += [getattr(node, field) for field in ("body", "orelse", "finalbody") if hasattr(node, field)]
                waiting += [it.body for field in ("handlers", "cases") for it in getattr(node, field, ())]


def _compiled(futures: list[ast.stmt], body: list[ast.stmt]) -> tuple[type, CodeType]:
    """Returns which kind of function the body is, and the code that defines it."""
    try:
        kind = ast.FunctionDef
        code = compile(_module(futures, body, kind), FILE, "exec", dont_inherit=True)
    except SyntaxError:
        # Perhaps it awaits something.
        kind = ast.AsyncFunctionDef
        code = compile(_module(futures, body, kind), FILE, "exec", dont_inherit=True)
    return kind, code


def _module(futures: list[ast.stmt], body: list[ast.stmt], kind: type) -> ast.Module:
    function = kind(name=_NAME, args=_NO_ARGUMENTS, body=body or [_placed(ast.Pass())], decorator_list=[], type_params=[])
    return ast.Module([*futures, _placed(function)], [])


def _placed(node: Any) -> Any:
    """Gives a node that no line of the source has the first one."""
    node.lineno = node.end_lineno = 1
    node.col_offset = node.end_col_offset = 0
    return node
