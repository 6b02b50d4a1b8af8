"""The packages that a tool's requirements.txt names.

They are resolved as for CPython on Linux, so that a tool gets the versions that everybody gets. Each package must
then have a form without native code: no other version is taken because of it.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from builder.distribution import Distribution, distributions
from builder.emscripten import ADAPTED, adapt
from builder.failure import MACHINE, BuildError, Note
from builder.merge.binary import NotMergeable
from builder.native import ANOTHER, RUN, WORK_WITHOUT, instead_of, name_of, refused_at_once
from builder.newer import refuse_older_majors
from builder.requirements import Requirement, as_text, read_requirements
from builder.stage import refuse_native_code

# The version of the interpreter inside the component.
_PYTHON_VERSION = "3.14"

# Versions of glibc for which wheels are made.
_GLIBC = (17, 24, 26, 27, 28, 31, 34, 35, 39)
_LINUX = (
    "--implementation=cp",
    *("--abi=cp314", "--abi=abi3", "--abi=none"),
    *("--platform=any", "--platform=manylinux2014_x86_64", *(f"--platform=manylinux_2_{it}_x86_64" for it in _GLIBC)),
)
_PURE = ("--implementation=py", "--abi=none", "--platform=any")
_PYODIDE = ("--implementation=cp", "--abi=cp314", "--platform=pyemscripten_2026_0_wasm32")


def install_packages(file: Path, work: Path) -> tuple[Path | None, list[Note]]:
    """Installs the packages that requirements.txt names, once for the same packages.

    Returns their folder and what the author should know of them.
    """
    if not file.is_file():
        return None, []
    requirements = read_requirements(file)
    for it in requirements:
        if instead := refused_at_once(it.text):
            message = f"{name_of(it.text)} is native code, which does not run in a component"
            raise BuildError(message, instead, file=str(file), line=it.line)
    digest = hashlib.sha256("\n".join(it.text for it in requirements).encode()).hexdigest()[:16]
    folder = work / f"packages-{digest}"
    if not folder.is_dir():
        _install(file, requirements, work, folder)
    return folder, _notes(folder, file)


def once(folder: Path | None, notes: list[Note]) -> list[Note]:
    """Returns the notes on a folder of packages the first time."""
    if folder is None or not notes:
        return notes
    told = folder.with_name(f"{folder.name}.told")
    if told.exists():
        return []
    told.touch()
    return notes


def _install(file: Path, requirements: list[Requirement], work: Path, folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="packages-", dir=work) as unfinished:
        pip = _Pip(file, requirements, Path(unfinished))
        target = pip.install("target", as_text(requirements), _LINUX)
        found = distributions(target)
        refuse_older_majors(pip.log.read_text(encoding="utf-8", errors="replace"), found, requirements, str(file))
        for it in found.values():
            if not it.is_pure and it.native_files():
                _make_pure(it, found, pip, target)
        refuse_native_code(target, "a package of requirements.txt", (ADAPTED,))
        shutil.rmtree(target / "bin", ignore_errors=True)
        try:
            os.rename(target, folder)
        except OSError:
            if not folder.is_dir():  # Otherwise another build was faster.
                raise


def _make_pure(it: Distribution, found: dict[str, Distribution], pip: "_Pip", target: Path) -> None:
    """Puts the package's wheel without native code in its place, or leaves the native part out, or refuses it."""
    if it.name in WORK_WITHOUT:
        for file in it.native_files():
            file.unlink()
        return
    other = pip.wheel(it, "pure", _PURE) or (pip.wheel(it, "pyodide", _PYODIDE) if it.name in RUN else None)
    if other is None:
        chain = _chain(it.name, pip.requirements, found)
        line = next((of.line for of in pip.requirements if name_of(of.text) == chain[0]), None)
        *above, last = [f"{name} {found[name].version}" for name in chain]
        part = it.native_files()[0].name.partition(".")[0]
        message = f"{last} has native code ({part}), which does not run in a component"
        if above:
            message = f"{' needs '.join([*above, last])}, whose native code ({part}) does not run in a component"
        raise BuildError(
            message,
            instead_of(*reversed(chain)),
            file=str(pip.file),
            line=line,
        )
    for file in it.files:
        file.unlink(missing_ok=True)
    for library in other.rglob("*-emscripten.so"):
        try:
            adapt(library)
        except NotMergeable as reason:
            message = f"the native code of {it.name} {it.version} cannot run in a component: {reason}"
            raise BuildError(message, instead_of(it.name), file=str(pip.file)) from None
    shutil.copytree(other, target, dirs_exist_ok=True)


def _chain(name: str, requirements: list[Requirement], found: dict[str, Distribution]) -> list[str]:
    """Returns the packages from one that the author names to another that it needs."""
    waiting = [[name_of(it.text)] for it in requirements]
    seen: set[str] = set()
    while waiting:
        chain = waiting.pop(0)
        if chain[-1] == name:
            return chain
        if chain[-1] in found and chain[-1] not in seen:
            seen.add(chain[-1])
            waiting += [[*chain, name_of(it)] for it in found[chain[-1]].requires if name_of(it) in found]
    return [name]


def _notes(folder: Path, file: Path) -> list[Note]:
    """Names the packages whose native part was left out."""
    return [
        Note(f"{it.name} {it.version} is used without its native part, which only makes it faster", file=str(file))
        for it in distributions(folder).values()
        if not it.is_pure and it.name in WORK_WITHOUT
    ]


class _Pip:
    """Runs pip. It sees neither the author's file nor its folder, only what was read of it."""

    def __init__(self, file: Path, requirements: list[Requirement], folder: Path) -> None:
        self.file = file
        self.requirements = requirements
        self.log = folder / "log.txt"
        self._folder = folder

    def install(self, name: str, lines: str, tags: Iterable[str], *options: str) -> Path:
        """Installs the wheels that have one of the tags, which runs nothing of them."""
        target, done = self._run(name, lines, tags, *options)
        if done.returncode != 0:
            raise self._failure(done.stderr)
        return target

    def wheel(self, it: Distribution, kind: str, tags: Iterable[str]) -> Path | None:
        """Installs the wheel of a package that has one of the tags; None if there is none."""
        hashes = [of for line in self.requirements if name_of(line.text) == it.name for of in line.text.split()[1:]]
        hashes = [of for of in hashes if of.startswith("--hash=")]
        target, done = self._run(f"{kind}-{it.name}", f"{it.name}=={it.version} {' '.join(hashes)}", tags, "--no-deps")
        return target if done.returncode == 0 else None

    def _run(self, name: str, lines: str, tags: Iterable[str], *options: str) -> tuple[Path, Any]:
        target = self._folder / name
        target.mkdir()
        written = self._folder / f"{name}.txt"
        written.write_text(lines, encoding="ascii")
        command = [
            *(sys.executable, "-I", "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--no-compile"),
            *("--only-binary=:all:", f"--python-version={_PYTHON_VERSION}", *tags, *options),
            *("--log", self.log, "--target", target, "-r", written),
        ]
        return target, subprocess.run(command, cwd=self._folder, capture_output=True, text=True)

    def _failure(self, stderr: str) -> BuildError:
        detail = "\n".join(it for it in stderr.splitlines() if it.startswith(("ERROR", "    ")))
        detail = detail.replace(f"{self._folder}/target.txt", str(self.file))
        if "NewConnectionError" in stderr or "ConnectTimeout" in stderr:
            return BuildError(
                "the packages of requirements.txt cannot be fetched",
                "connect to the package index, or set PIP_INDEX_URL",
                detail=detail,
                exit_code=MACHINE,
            )
        if match := re.search(r"No matching distribution found for ([^\s;(]+)", stderr):
            return self._no_version(match[1], detail)
        if match := re.search(r"Cannot install (.+) because these package versions have conflicting", stderr):
            message = f"the packages {match[1]} cannot be installed together"
            lines = [it.line for it in self.requirements if it.text.partition(" --hash")[0] in match[1]]
            line = max(lines, default=None)
            return BuildError(message, "change their versions", file=str(self.file), line=line, detail=detail)
        if "HASHES" in stderr:
            message = "a package has another hash than requirements.txt says, or none is given for it"
            return BuildError(message, "correct the hashes", file=str(self.file), detail=detail or stderr[-2000:])
        message = "pip cannot install the packages of requirements.txt"
        return BuildError(message, "correct the line", file=str(self.file), detail=detail or stderr[-2000:])

    def _no_version(self, requirement: str, detail: str) -> BuildError:
        """Says why no version of a package fits."""
        name = name_of(requirement)
        log = self.log.read_text(encoding="utf-8", errors="replace")
        # Where another package needs it.
        needed = re.search(r"\(from (?!versions)([A-Za-z0-9._-]+)", detail)
        root = name_of(needed[1]) if needed else name
        line = next((it.line for it in self.requirements if name_of(it.text) == root), None)
        other = re.escape(name).replace(r"\-", "[-_.]")
        place = {"file": str(self.file), "line": line, "detail": detail}
        what = f"{requirement}, which {root} needs," if needed else requirement
        if versions := re.search(r"\(from versions: (?!none)(.+)\)", detail):
            instead = instead_of(root, name)
            choose = f"choose one of: {', '.join(versions[1].split(', ')[-8:])}"
            message = f"{what} has no version that can be installed for Python {_PYTHON_VERSION}"
            return BuildError(message, choose if instead is ANOTHER else instead, **place)
        if re.search(rf"Skipping link: none of the wheel's tags .*/{other}-", log, re.IGNORECASE):
            message = f"{what} has no wheel for Python {_PYTHON_VERSION}, and none without native code"
            return BuildError(message, instead_of(root, name), **place)
        if re.search(rf"Skipping link: No sources permitted for {other}:", log, re.IGNORECASE):
            message = f"{what} has no wheel, only sources whose installation runs code of the package"
            return BuildError(message, f"copy its modules beside the entry, or {ANOTHER}", **place)
        return BuildError(f"the index has no package `{name}`", "correct the name", **place)
