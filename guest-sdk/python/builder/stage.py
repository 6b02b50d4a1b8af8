"""A folder with the tool's modules and no other files of its project.

componentize-py walks every folder it is given, and everything in them can be imported.
"""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from builder.distribution import NATIVE
from builder.failure import BuildError, Note
from builder.library import OF_THE_COMPONENT
from builder.world import lay_out_world

SDK = Path(__file__).resolve().parent.parent / "sdk"

# Names that have another meaning inside the component.
_RESERVED = sys.stdlib_module_names | OF_THE_COMPONENT


@dataclass
class Stage:
    """The folders of one build."""

    tool: Path
    sdk: Path
    wit: Path
    # Whether this Python has componentize-py.
    has_linker: bool = True
    notes: list[Note] = field(default_factory=list)

    @staticmethod
    @contextmanager
    def of(
        entry: Path, contract: Path, work: Path, web: bool, tools: bool, has_linker: bool = True
    ) -> Iterator["Stage"]:
        """Copies the modules beside `entry` and the SDK, and removes the copy after the build.

        `web` is whether the tool speaks HTTP, and `tools` whether it calls tools.
        """
        with tempfile.TemporaryDirectory(prefix="stage-", dir=work) as top:
            tool, sdk, wit = Path(top, "tool"), Path(top, "sdk"), Path(top, "wit")
            tool.mkdir()
            unused = [*([] if web else ["_web"]), *([] if tools else ["_tools.py", "_tools_warm_up.py"])]
            shutil.copytree(SDK, sdk, ignore=shutil.ignore_patterns("__pycache__", *unused))
            source = entry.read_text(encoding="utf-8", errors="replace")
            lay_out_world(contract, wit, _assigns_polling(source), web, tools)
            stage = Stage(tool, sdk, wit, has_linker)
            stage._copy_modules(entry.parent)
            # Where componentize-py shows the first folder to the interpreter.
            start = {"module": entry.stem, "folder": "/0/", "web": web, "tools": tools}
            Path(sdk, "entry.json").write_text(json.dumps(start))
            yield stage

    def _copy_modules(self, folder: Path) -> None:
        for found in sorted(folder.iterdir()):
            if not _is_module(found):
                continue
            _refuse_outside_links(found, folder)
            _refuse_other_worlds(found)
            if found.stem in _RESERVED:
                self.notes.append(Note(f"{found.name} is left out: the component has a module of that name"))
            elif found.is_dir():
                refuse_native_code(found, found.name)
                shutil.copytree(found, self.tool / found.name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
            else:
                shutil.copy(found, self.tool)


def refuse_native_code(folder: Path, what: str, allowed: tuple[str, ...] = ()) -> None:
    """Refuses a folder with native code, which does not run in a component, apart from files with these ends."""
    for found in folder.rglob("*"):
        if found.suffix in NATIVE and not found.name.endswith(allowed):
            raise BuildError(
                f"{what} has native code ({found.name}), which does not run in a component",
                "use a package that is pure Python, or one of the standard library",
            )


def _refuse_outside_links(found: Path, folder: Path) -> None:
    """Refuses links to files outside the entry's folder, which would get into the component."""
    for path in (found, *found.rglob("*")):
        if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
            raise BuildError("the link leads out of the tool's folder", "replace the link by the file", file=str(path))


def _refuse_other_worlds(found: Path) -> None:
    """Refuses the settings that componentize-py looks for in packages: they name folders of WIT anywhere."""
    for path in found.rglob("componentize-py.toml"):
        raise BuildError(
            "the build does not use componentize-py.toml: every tool has the world of the contract",
            "remove the file",
            file=str(path),
        )


def check_entry(entry: Path) -> None:
    """Refuses an entry that is not a module of its own."""
    if not entry.is_file():
        raise BuildError("the file does not exist", "check spec.entry in goondan.yaml", file=str(entry))
    if entry.suffix != ".py":
        raise BuildError("the entry is not a Python module", "name a .py file in spec.entry", file=str(entry))
    if entry.stem in _RESERVED:
        raise BuildError(
            f"every component already has a module `{entry.stem}`",
            "rename the file, for example to tool.py, and change spec.entry",
            file=str(entry),
        )


def _assigns_polling(source: str) -> bool:
    """Whether the module has a `polling`, and so needs the world with that export."""
    return re.search(r"^polling\s*[:=]", source, re.MULTILINE) is not None


def _is_module(path: Path) -> bool:
    if path.name.startswith("."):
        return False
    if path.is_dir():
        return (path / "__init__.py").is_file()
    return path.suffix == ".py"
