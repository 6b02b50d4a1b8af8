"""Finds the errors of a tool that can be found without running it, before the slow part of a build."""

import ast
import difflib
from dataclasses import dataclass, field
from pathlib import Path

from builder.failure import BuildError, Note
from builder.library import ABSENT, LIBRARY, OF_THE_COMPONENT
from builder.marked import marked_functions
from builder.source import Import, Source
from builder.stage import SDK

# Other frameworks for tools, of which a component has none.
_FRAMEWORKS = frozenset({"fastmcp", "mcp"})


@dataclass
class Tool:
    """The modules of a tool that its entry imports."""

    entry: Path
    folder: Path
    sources: list[Source]
    notes: list[Note] = field(default_factory=list)

    @staticmethod
    def read(entry: Path) -> "Tool":
        """Parses the entry, and the modules beside it that it imports."""
        folder = entry.parent
        tool = Tool(entry, folder, [])
        waiting, seen = [entry.stem], {entry.stem}
        while waiting:
            name = waiting.pop()
            file = tool._file(name)
            if file is None:
                continue
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            source = Source.read(folder, file, package)
            if source is None:
                continue
            tool.sources.append(source)
            for found in source.imports():
                for module in () if found.is_late else _modules_of(found):
                    if module not in seen and module.partition(".")[0] not in LIBRARY:
                        seen.add(module)
                        waiting.append(module)
        return tool

    def handlers(self) -> list[str] | None:
        """Returns the names of the handlers, or None if only running the tool tells them."""
        for source in self.sources:
            if source.file == self.entry.name:
                return source.handlers(self._imported_by(source))
        return None

    def _imported_by(self, entry: Source) -> dict[str, str | None]:
        """Returns the marked functions that the entry imports from other modules, with the names of their handlers."""
        marked = {
            (Path(source.file).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__"), it.function): it
            for source in self.sources
            for it in marked_functions(source.tree, source.file)
        }
        return {
            alias: marked[found.name, member].name
            for found in entry.imports()
            for member, alias in zip(found.members, found.aliases)
            if not found.is_late and (found.name, member) in marked
        }

    def check_imports(self, packages: Path | None) -> None:
        """Refuses imports of modules that the component will not have. In functions they become notes."""
        errors = []
        for source in self.sources:
            for found in source.imports():
                errors += _absent_names(found, source.file)
                if (missing := self._missing(found, packages)) is None:
                    continue
                message, next_move = self._explain(missing, packages)
                if found.is_late:
                    message += ": a call that runs this import fails"
                    self.notes.append(Note(message, file=source.file, line=found.line, next_move=next_move))
                else:
                    errors.append(BuildError(message, next_move, file=source.file, line=found.line))
        if errors:
            errors[0].others = errors[1:]
            raise errors[0]

    def _missing(self, found: Import, packages: Path | None) -> str | None:
        """Returns the part of a module's name that leads to no module."""
        top, *below = found.name.split(".")
        if top in LIBRARY or top in OF_THE_COMPONENT or _has(packages, top):
            return None
        if self._file(top) is None:
            return top
        name = top
        for part in below:
            folder = self._package(name)
            name = f"{name}.{part}"
            # A module may put others beneath itself while it runs.
            if folder is not None and self._file(name) is None and not (folder / part).is_dir():
                return None if _changes_its_modules(folder) else name
        return None

    def _explain(self, name: str, packages: Path | None) -> tuple[str, str]:
        if name in _FRAMEWORKS:
            message = f"module `{name}` was not found, and a tool needs no server"
            return message, "write `from toolhost import tool`, and @tool above each function"
        if name in ABSENT:
            message = f"the component's Python has no module `{name}`"
            return message, "remove the import: a component has no processes, terminals or C libraries"
        if (self.folder / name).is_dir():
            message = f"`{name}` is a folder without an `__init__.py`, which is left out of the component"
            return message, f"create an empty file {name}/__init__.py"
        known = {"toolhost", *LIBRARY, *(it.stem for it in self.folder.iterdir())}
        if packages is not None:
            known |= {it.stem for it in packages.iterdir()}
        similar = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.8)
        ask = f"did you mean `{similar[0]}`? Otherwise " if similar else ""
        move = "put the module beside the entry, or add its package to requirements.txt"
        return f"module `{name}` was not found", ask + move

    def _file(self, name: str) -> Path | None:
        """Returns the file of a module of the tool."""
        path = self.folder.joinpath(*name.split("."))
        for file in (path / "__init__.py", path.with_name(f"{path.name}.py")):
            if file.is_file():
                return file
        return None

    def _package(self, name: str) -> Path | None:
        folder = self.folder.joinpath(*name.split("."))
        return folder if folder.is_dir() else None


def _absent_names(found: Import, file: str) -> list[BuildError]:
    """Returns an error for each name that `toolhost` has not."""
    if found.name != "toolhost":
        return []
    names = _names_of_toolhost()
    errors = []
    for member in found.members:
        if member in names or member == "*" or member.startswith("_"):
            continue
        similar = difflib.get_close_matches(member, names, n=1, cutoff=0.5)
        move = f"did you mean `{similar[0]}`?" if similar else f"it has {', '.join(f'`{it}`' for it in names)}"
        errors.append(BuildError(f"`toolhost` has no `{member}`", move, file=file, line=found.line))
    return errors


def _names_of_toolhost() -> list[str]:
    tree = ast.parse((SDK / "toolhost" / "__init__.py").read_text(encoding="utf-8"))
    lists = (it.value for it in tree.body if isinstance(it, ast.Assign) and ast.unparse(it.targets[0]) == "__all__")
    return [name for names in lists for name in ast.literal_eval(names)]


def _modules_of(found: Import) -> list[str]:
    """Returns the modules that an import may load, those around it first."""
    parts = found.name.split(".")
    around = [".".join(parts[: count + 1]) for count in range(len(parts))]
    return around + [f"{found.name}.{member}" for member in found.members]


def _has(packages: Path | None, name: str) -> bool:
    if packages is None:
        return False
    return (packages / name).is_dir() or (packages / f"{name}.py").is_file()


def _changes_its_modules(folder: Path) -> bool:
    source = (folder / "__init__.py").read_text(encoding="utf-8", errors="replace")
    return "__path__" in source or "sys.modules" in source
