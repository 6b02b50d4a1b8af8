"""Finds the functions that `@tool` marks, without running the module."""

import ast
import re
from typing import NamedTuple

from builder.failure import BuildError

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


class Marked(NamedTuple):
    """A function with `@tool` at the top level of a module."""

    function: str
    name: str | None
    """Of the handler; None if only running the module tells it."""
    line: int


def marked_functions(tree: ast.Module, file: str) -> list[Marked]:
    """Returns the marked functions, or raises an error about one that cannot be a handler."""
    names, modules = _imported(tree)
    _refuse_methods(tree, names, modules, file)
    found = []
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            if not _is_tool(call.func if call else decorator, names, modules):
                continue
            marked = Marked(node.name, _name_of(node, call), node.lineno)
            _check_name(marked, file)
            if len(node.decorator_list) == 1:
                _check_parameters(node, file)
            found.append(marked)
    return found


def _refuse_methods(tree: ast.Module, names: set[str], modules: set[str], file: str) -> None:
    for kind in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for node in kind.body:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            decorators = [it.func if isinstance(it, ast.Call) else it for it in node.decorator_list]
            if any(_is_tool(it, names, modules) for it in decorators):
                raise BuildError(
                    f"`{kind.name}.{node.name}` is a method, and @tool is for functions at the top level of a module",
                    f"write a function that calls it, with @tool; each call begins with a new `{kind.name}`",
                    file=file,
                    line=node.lineno,
                )


def _imported(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Returns the names that `toolhost.tool` has in a module, and those of `toolhost` itself."""
    names, modules = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "toolhost" and node.level == 0:
            names |= {it.asname or it.name for it in node.names if it.name in ("tool", "*")}
        elif isinstance(node, ast.Import):
            modules |= {it.asname or it.name for it in node.names if it.name == "toolhost"}
    return {"tool" if it == "*" else it for it in names}, modules


def _is_tool(decorator: ast.expr, names: set[str], modules: set[str]) -> bool:
    if isinstance(decorator, ast.Attribute):
        return decorator.attr == "tool" and isinstance(decorator.value, ast.Name) and decorator.value.id in modules
    return isinstance(decorator, ast.Name) and decorator.id in names


def _name_of(node: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call | None) -> str | None:
    for keyword in call.keywords if call else ():
        if keyword.arg == "name":
            return keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if keyword.arg is None:
            return None
    return node.name


def _check_name(marked: Marked, file: str) -> None:
    name = marked.name
    if name is not None and (not isinstance(name, str) or not _NAME.fullmatch(name) or "__" in name):
        raise BuildError(
            f"`{name}`: a name has lower-case letters, digits, `_` and `-`, and no `__`",
            'set the name for the model: @tool(name="...")',
            file=file,
            line=marked.line,
        )


def _check_parameters(node: ast.FunctionDef | ast.AsyncFunctionDef, file: str) -> None:
    every = node.args
    for argument in (*every.posonlyargs, *every.args, *every.kwonlyargs):
        if argument.annotation is None:
            hint = "ctx: Context" if argument.arg in ("ctx", "context") else f"{argument.arg}: str"
            raise BuildError(
                f"`{node.name}`: the parameter `{argument.arg}` has no type",
                f"write `{hint}` or another type",
                file=file,
                line=argument.lineno,
            )
