"""Reads the tool's modules without running them: syntax, imports and handlers.

The interpreter that builds may be older than the one inside the component. Syntax that only the newer one has is no
error here: then the build decides.
"""

import ast
import builtins
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from builder.failure import BuildError
from builder.marked import marked_functions

# The interpreter inside the component.
_INSIDE = (3, 14)

# Lines whose syntax is newer than Python 3.10: type parameters, f-strings in f-strings, t-strings, `except A, B:`.
_NEWER = re.compile(
    r"""^\s*(type\s+\w|(async\s+)?def\s+\w+\s*\[|class\s+\w+\s*\[|except\b.*,|except\s*\*) | \b[rR]?[fFtT][rR]?["']""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Import:
    """A module that an import statement names."""

    name: str
    """With the names of the packages around it."""
    line: int
    members: tuple[str, ...] = ()
    """The names in `from name import …`, which may be modules."""
    is_late: bool = False
    """Whether it is in a function, and so runs during a call."""
    aliases: tuple[str, ...] = ()
    """The names that the members get."""


@dataclass(frozen=True)
class Source:
    """A module of the tool."""

    file: str
    """Its path from the folder of the tool."""
    tree: ast.Module
    package: str
    """The package that relative imports begin with; empty for a module beside the entry."""

    @staticmethod
    def read(folder: Path, file: Path, package: str) -> "Source | None":
        """Parses a module. None if this interpreter cannot tell whether it is correct."""
        shown = str(file.relative_to(folder))
        source = file.read_bytes()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(source, shown)
                # Finds what the grammar allows, such as a `return` outside a function.
                compile(tree, shown, "exec", dont_inherit=True)
        except SyntaxError as error:
            if not _is_certain(error, source):
                return None
            raise BuildError(
                f"syntax error: {error.msg}",
                "correct the module and build again",
                file=shown,
                line=error.lineno,
                column=error.offset or None,
                detail=error.text,
            ) from None
        except (ValueError, RecursionError, MemoryError):
            return None
        return Source(shown, tree, package)

    def imports(self) -> Iterator[Import]:
        """Finds the imports that run whenever the module is imported, and those in functions.

        Others may be meant to fail: those in `try`, `if`, `with` and loops.
        """
        yield from self._imports_in(self.tree.body, is_late=False)

    def _imports_in(self, body: list[ast.stmt], is_late: bool) -> Iterator[Import]:
        for statement in body:
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    yield Import(alias.name, statement.lineno, is_late=is_late)
            elif isinstance(statement, ast.ImportFrom):
                name = self._absolute(statement)
                if name is not None:
                    members = tuple(alias.name for alias in statement.names)
                    aliases = tuple(alias.asname or alias.name for alias in statement.names)
                    yield Import(name, statement.lineno, members, is_late, aliases)
            elif isinstance(statement, ast.ClassDef):
                yield from self._imports_in(statement.body, is_late)
            elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from self._imports_in(statement.body, is_late=True)

    def _absolute(self, statement: ast.ImportFrom) -> str | None:
        """Returns the module of `from … import …`; None for a relative import beyond the package."""
        if statement.level == 0:
            return statement.module
        parts = self.package.split(".") if self.package else []
        if statement.level > len(parts):
            return None
        above = parts[: len(parts) - statement.level + 1]
        return ".".join([*above, *filter(None, [statement.module])])

    def handlers(self, imported: dict[str, str | None]) -> "list[str] | None":
        """Returns the names of the handlers if they are written out; None if only running it tells.

        `imported` has the marked functions that the entry imports from other modules, with their names.
        """
        marked = {it.function: it.name for it in marked_functions(self.tree, self.file)} | imported
        uses = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name) and node.id == "handlers"]
        if not uses and not self._may_be_bound("handlers"):
            if not marked and not self._has_hidden_marks():
                raise self._no_handler()
            return self._written([*dict.fromkeys(marked.values())])
        value = self._assigned("handlers")
        if len(uses) != 1 or not isinstance(value, ast.Dict):
            return None
        self._check_functions(value)
        names = [key.value if isinstance(key, ast.Constant) else None for key in value.keys]
        listed = {it.id for it in value.values if isinstance(it, ast.Name)}
        return self._written([*names, *(name for function, name in marked.items() if function not in listed)])

    def _no_handler(self) -> BuildError:
        functions = [it for it in self.tree.body if isinstance(it, (ast.FunctionDef, ast.AsyncFunctionDef))]
        for function in functions:
            for decorator in function.decorator_list:
                name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
                if name.rpartition(".")[2] == "tool":
                    return BuildError(
                        f"there is no handler: `@{name}` is not the `tool` of toolhost",
                        "write `from toolhost import tool`, and `@tool` above each function; a tool needs no server",
                        file=self.file,
                        line=decorator.lineno,
                    )
        public = next((it.name for it in functions if not it.name.startswith("_")), "a function")
        return BuildError(
            "there is no handler: write @tool above a function (from toolhost import tool)",
            f"write @tool above `{public}`" if functions else "write a function with @tool",
            file=self.file,
        )

    def _written(self, names: "list[str | None]") -> "list[str] | None":
        if not names or not all(isinstance(name, str) for name in names) or self._has_hidden_marks():
            return None
        return names

    def _has_hidden_marks(self) -> bool:
        """Whether functions may be marked unseen: in `if` and `try`, by a call, or by another module's names."""
        at_top = {id(it) for node in self.tree.body for it in getattr(node, "decorator_list", ())}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and any(it.name == "*" for it in node.names):
                return node.module != "toolhost"
            if isinstance(node, ast.Call) and id(node) not in at_top:
                if getattr(node.func, "id", None) == "tool" or getattr(node.func, "attr", None) == "tool":
                    return True
        return False

    def _assigned(self, name: str) -> ast.expr | None:
        """Returns what is assigned to a name at the top level."""
        for statement in self.tree.body:
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            if isinstance(statement, ast.AnnAssign):
                targets = [statement.target]
            if len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id == name:
                return statement.value
        return None

    def _check_functions(self, handlers: ast.Dict) -> None:
        """Refuses names of functions that are defined nowhere."""
        for value in handlers.values:
            if isinstance(value, ast.Name) and not hasattr(builtins, value.id) and not self._may_be_bound(value.id):
                raise BuildError(
                    f"`{value.id}` is not defined",
                    "name a function of the module in `handlers`",
                    file=self.file,
                    line=value.lineno,
                    column=value.col_offset + 1,
                )

    def _may_be_bound(self, name: str) -> bool:
        """Whether any statement binds a name, or may do so unseen."""
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                bound = [node.name]
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                bound = [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
            elif isinstance(node, ast.Name):
                bound = [node.id] if isinstance(node.ctx, ast.Store) else []
                if node.id in ("exec", "globals", "vars", "locals", "setattr"):
                    return True
            elif isinstance(node, (ast.MatchAs, ast.MatchStar)):
                bound = [node.name or ""]
            else:
                continue
            if name in bound or "*" in bound or "__getattr__" in bound:
                return True
        return False


def _is_certain(error: SyntaxError, source: bytes) -> bool:
    """Whether the interpreter inside the component refuses the syntax as well."""
    if sys.version_info >= _INSIDE:
        return True
    if "f-string" in (error.msg or "") or error.lineno is None:
        return False
    lines = source.decode("utf-8", errors="replace").splitlines()
    near = lines[max(0, error.lineno - 2) : error.lineno + 1]
    return not any(_NEWER.search(line) for line in near)
