"""What a tool uses of the host beside files, and so what its component imports."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

# Modules of the standard library that make connections for HTTP. A library that makes its own imports `ssl`.
_WEB = frozenset(("http.client", "ssl", "urllib.request", "urllib.robotparser", "xmlrpc.client"))

_IMPORT = re.compile(
    rb"^[ \t]*(?:import[ \t]+([\w., \t]+)|from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^#\n]*))",
    re.MULTILINE,
)
_NAMES = re.compile(rb"[A-Za-z_]\w*")


def uses_web(entry: Path, packages: Path | None) -> bool:
    """Whether modules that the entry may import, in functions too, import one that makes connections."""
    return any(found in _WEB for name, file in _reached(entry, packages) for found in _imports(file, name))


def uses_tools(entry: Path) -> bool:
    """Whether a module of the tool reads an attribute `tools`, as in `ctx.tools`."""
    return any(_reads_tools(file.read_bytes()) for _, file in _reached(entry, None))


def _reads_tools(source: bytes) -> bool:
    if b"tools" not in source:
        return False
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        # Perhaps it is newer than the Python that builds.
        return b".tools" in source
    return any(isinstance(node, ast.Attribute) and node.attr == "tools" for node in ast.walk(tree))


def _reached(entry: Path, packages: Path | None) -> Iterator[tuple[str, Path]]:
    """Finds the modules that the entry may import, with their names, itself first."""
    waiting, seen = [entry.stem], {entry.stem}
    while waiting:
        name = waiting.pop()
        for file in _files(name, entry.parent, packages):
            yield name, file
            for found in _imports(file, name):
                if found not in seen:
                    seen.add(found)
                    waiting.append(found)


def _files(name: str, *folders: Path | None) -> Iterable[Path]:
    """Finds the file of a module."""
    for folder in folders:
        if folder is not None:
            path = folder.joinpath(*name.split("."))
            for file in (path / "__init__.py", path.with_name(f"{path.name}.py")):
                if file.is_file():
                    yield file
                    return


def _imports(file: Path, name: str) -> Iterable[str]:
    """Names the modules that a file imports, those around them, and what may be modules within them."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for plain, base, members in _IMPORT.findall(file.read_bytes()):
        for one in plain.decode().split(","):
            yield from _around(one.split(" as ")[0].strip())
        if base:
            module = _absolute(base.decode(), package)
            yield from _around(module)
            for member in _NAMES.findall(members):
                yield f"{module}.{member.decode()}" if module else member.decode()


def _absolute(name: str, package: str) -> str:
    level = len(name) - len(name.lstrip("."))
    if not level:
        return name
    above = package.split(".")
    return ".".join([*above[: len(above) - level + 1], *filter(None, [name.lstrip(".")])])


def _around(name: str) -> Iterable[str]:
    parts = name.split(".")
    return (".".join(parts[: count + 1]) for count in range(len(parts))) if name else ()
