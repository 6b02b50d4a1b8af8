"""The component that builds continue: the interpreter with the SDK, shipped or made once for each world.

A build runs it with the tool's modules, and keeps the memory as it then is. So it links, merges and compiles nothing.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from builder.failure import MACHINE, BuildError, Note
from builder.linked import failure_of, no_linker, run_componentize_py
from builder.merge import NotMergeable, merged
from builder.shipped import Unusable, unpack_base
from builder.stage import Stage

# What the base has copied for the modules that a tool imports: see sdk/toolhost_base.py.
_LIBRARY = ("python", "world", "bundled")


@dataclass(frozen=True)
class Base:
    """The folder of a base."""

    folder: Path
    # The program that continues it: toolhost.
    program: Path

    @staticmethod
    def of(stage: Stage, bases: Path, program: Path) -> "Base | None":
        """Returns the base of a world, which is unpacked or made if there is none. None if it cannot be made."""
        world = Path(stage.wit, "world.wit").read_bytes()
        folder = bases / hashlib.sha256(world).hexdigest()[:16]
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(prefix="base-", dir=bases) as unfinished:
                _keep(_shipped(stage, Path(unfinished), program, folder) or _made(stage, Path(unfinished), program), folder)
        if not Path(folder, "base.wasm").is_file():
            return None
        return Base(folder, program)

    def with_tool(self, stage: Stage, packages: Path | None, out: Path) -> None:
        """Writes the component of a tool."""
        # With compiled code. The interpreter writes a report into the folder.
        shutil.copytree(self.folder / "sdk", stage.sdk, dirs_exist_ok=True)
        readable = {stage.tool: "/0", **_library(self.folder)}
        if packages is not None:
            self._compile_packages(packages)
            readable[packages] = "/2"
        done = _resume(self.folder, self.program, readable, {stage.sdk: "/1"}, out)
        if done.returncode != 0:
            raise failure_of(stage, done.stderr)

    def _compile_packages(self, packages: Path) -> None:
        """Compiles packages once: those of a folder do not change."""
        compiled = packages / ".compiled"
        if not compiled.exists():
            _compile(self.folder, self.program, {packages: "/2"})
            compiled.touch()


def _library(base: Path) -> dict[Path, str]:
    return {base / "library" / name: f"/{name}" for name in _LIBRARY}


def _resume(
    base: Path, program: Path, readable: dict[Path, str], writable: dict[Path, str], out: Path
) -> subprocess.CompletedProcess[str]:
    """Continues a base with folders, each with the path at which the interpreter sees it."""
    command = [program, "resume", base / "base.wasm", out, "--quiet"]
    for option, folders in (("--folder", readable), ("--writable", writable)):
        command += [argument for path, seen_as in folders.items() for argument in (option, path, seen_as)]
    return subprocess.run(command, cwd=base, capture_output=True, text=True)


def _shipped(stage: Stage, unfinished: Path, program: Path, folder: Path) -> Path | None:
    """Unpacks the base that the program ships. None if it cannot be used."""
    complete = unfinished / "shipped"
    try:
        return complete if unpack_base(program, folder.parent.name, folder.name, complete) else None
    except Unusable as reason:
        what = f"the base for Python that toolhost ships cannot be used: {reason}"
        stage.notes.append(Note(what, next_move="install toolhost again"))
        if not stage.has_linker:
            # The program that builds asks for one, and shows the second error if there is none.
            error = no_linker()
            error.others.append(BuildError(what, "install toolhost again", exit_code=MACHINE))
            raise error from None
        return None


def _made(stage: Stage, unfinished: Path, program: Path) -> Path:
    """Makes a base. If that fails, returns an empty folder, so that later builds do not try again."""
    try:
        _make(stage, unfinished, program)
        return unfinished / "complete"
    except (BuildError, NotMergeable) as reason:
        if isinstance(reason, BuildError) and reason.lacks:
            raise
        stage.notes.append(Note(f"builds of this kit take longer: the base cannot be used, because {reason}"))
        none = unfinished / "none"
        none.mkdir()
        return none


def _make(stage: Stage, folder: Path, program: Path) -> None:
    """Writes a base to `folder/complete`."""
    build = Stage(folder / "tool", folder / "sdk", folder / "wit", stage.has_linker)
    shutil.copytree(stage.sdk, build.sdk, ignore=shutil.ignore_patterns("entry.json"))
    shutil.copytree(stage.wit, build.wit)
    packages = folder / "packages"
    build.tool.mkdir()
    packages.mkdir()
    complete = folder / "complete"
    complete.mkdir()
    component = complete / "base.wasm"
    run_componentize_py(build, packages, component)
    component.write_bytes(merged(component.read_bytes(), is_base=True))
    os.rename(build.sdk / "library", complete / "library")
    os.rename(build.sdk, complete / "sdk")
    _compile(complete, program, {complete / "sdk": "/1", **_library(complete)})


def _compile(base: Path, program: Path, folders: dict[Path, str]) -> None:
    """Has the interpreter compile the modules in folders."""
    with tempfile.TemporaryDirectory(prefix="compile-", dir=base.parent) as temporary:
        settings = Path(temporary, "settings")
        settings.mkdir()
        Path(settings, "folders.json").write_text(json.dumps([*folders.values()]))
        readable = {path: seen_as for path, seen_as in _library(base).items() if path not in folders}
        readable[settings] = "/compile"
        done = _resume(base, program, readable, folders, Path(temporary, "unused.wasm"))
    if done.returncode != 0:
        message = "the base of the kit cannot be used"
        raise BuildError(message, "report this output", detail=done.stderr[-4000:].strip(), exit_code=MACHINE)


def _keep(complete: Path, folder: Path) -> None:
    try:
        os.rename(complete, folder)
    except OSError as error:
        if not folder.is_dir():  # Otherwise another build was faster.
            message = f"{folder} cannot be written: {error}"
            raise BuildError(message, "see that the cache is writable", exit_code=MACHINE) from error
