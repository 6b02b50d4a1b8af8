"""The packages that a tool's requirements.txt names; all must be pure Python."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from builder.failure import MACHINE, BuildError
from builder.stage import refuse_native_code

# NAME[EXTRAS] SPECIFIERS of a package in the index; markers and hashes are removed before.
_PACKAGE = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[A-Za-z0-9._,\s-]*\])?"
    r"\s*\(?(\s*[<>=!~]=?=?\s*[0-9A-Za-z.*+!_-]+\s*,?)*\s*\)?"
)

# The version of the interpreter inside the component.
_PYTHON_VERSION = "3.14"


def install_packages(requirements: Path, work: Path) -> Path | None:
    """Installs the packages that `requirements` names, once per version of the file, and returns the folder."""
    if not requirements.is_file():
        return None
    _refuse_others(requirements)
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()[:16]
    folder = work / f"packages-{digest}"
    if folder.is_dir():
        return folder
    with tempfile.TemporaryDirectory(prefix="packages-", dir=work) as unfinished:
        target = Path(unfinished, "target")
        target.mkdir()
        _pip(requirements, target)
        refuse_native_code(target, "a package of requirements.txt")
        shutil.rmtree(target / "bin", ignore_errors=True)
        try:
            os.rename(target, folder)
        except OSError:
            if not folder.is_dir():  # Otherwise another build was faster.
                raise
    return folder


def _refuse_others(requirements: Path) -> None:
    """Refuses all but packages of the index: files could change unnoticed, and source packages run code."""
    text = requirements.read_bytes()
    encoding = "utf-16" if text[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    lines = text.decode(encoding, errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        if not is_of_the_index(line):
            raise BuildError(
                "this line of requirements.txt is not a package of the index",
                "write NAME==VERSION, and no option, URL or file; an index is named by PIP_INDEX_URL",
                file=str(requirements),
                line=number,
                detail=line.strip(),
            )


def is_of_the_index(line: str) -> bool:
    """Whether a line of requirements is a package of the index, or nothing."""
    text = re.sub(r"(^|\s)#.*", "", line).strip().removesuffix("\\").strip()
    text = re.sub(r"(^|\s)--hash=sha(256|384|512):[0-9a-f]+", "", text)
    package, _, marker = text.partition(";")
    return "--" not in marker and (not text or _PACKAGE.fullmatch(package.strip()) is not None)


def _pip(requirements: Path, target: Path) -> None:
    # Wheels for any machine and any interpreter contain no native code, and installing them runs nothing.
    pure = ["--only-binary=:all:", "--platform=any", "--implementation=py", "--abi=none"]
    command = [
        # Isolated, so that pip does not import modules from the tool's folder.
        *(sys.executable, "-I", "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--no-compile"),
        *(*pure, f"--python-version={_PYTHON_VERSION}", "--target", target, "-r", requirements.resolve()),
    ]
    done = subprocess.run(command, cwd=target, capture_output=True, text=True)
    if done.returncode == 0:
        return
    detail = "\n".join(it for it in done.stderr.splitlines() if it.startswith("ERROR"))
    if "NewConnectionError" in done.stderr or "ConnectTimeout" in done.stderr:
        raise BuildError(
            "the packages of requirements.txt cannot be fetched",
            "connect to the package index, or set PIP_INDEX_URL",
            detail=detail,
            exit_code=MACHINE,
        )
    raise BuildError(
        f"a package has no version for Python {_PYTHON_VERSION} without native code",
        "check the name, or use a package that is pure Python (a wheel named …-none-any.whl)",
        file=str(requirements),
        detail=detail or done.stderr[-2000:],
    )
