"""The packages that a tool's requirements.txt names, pure Python all of them."""

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

# Options that name another file or folder.
_FILE_OPTION = re.compile(r"-[rcef]|--(requirement|constraint|editable|find-links)\b")

# Of the interpreter inside the component.
_PYTHON_VERSION = "3.14"


def install_packages(requirements: Path, work: Path) -> Path | None:
    """Installs what `requirements` names, once for each of its versions, and returns the folder."""
    if not requirements.is_file():
        return None
    _refuse_files(requirements)
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


def _refuse_files(requirements: Path) -> None:
    """Refuses what names a file: a change of that would go unnoticed."""
    text = requirements.read_bytes()
    encoding = "utf-16" if text[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    lines = text.decode(encoding, errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        if names_a_file(line):
            raise BuildError(
                "requirements.txt names a file, whose changes would go unnoticed",
                "name the package and its version (NAME==VERSION), or put the package beside the entry",
                file=str(requirements),
                line=number,
                detail=line.strip(),
            )


def names_a_file(line: str) -> bool:
    """Whether a line of requirements names a file or a folder of this machine."""
    said = re.sub(r"(^|\s)#.*", "", line).strip()
    if _FILE_OPTION.match(said):
        return True
    if said.startswith("-"):
        return False
    # What follows is a marker, or an option.
    requirement = re.split(r"\s;|\s--", said)[0].split(";")[0].strip()
    at = requirement.rpartition("@")[2].strip()
    if re.match(r"(git\+)?https?://", at):
        return False
    return "/" in at or at.endswith((".whl", ".zip", ".tar.gz")) or at in (".", "..")


def _pip(requirements: Path, target: Path) -> None:
    # Wheels for any machine and any interpreter: there is no native code in them, and nothing runs.
    pure = ["--only-binary=:all:", "--platform=any", "--implementation=py", "--abi=none"]
    command = [
        *(sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--no-compile"),
        *(*pure, f"--python-version={_PYTHON_VERSION}", "--target", target, "-r", requirements.name),
    ]
    # Paths within the file are relative to it.
    done = subprocess.run(command, cwd=requirements.parent, capture_output=True, text=True)
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
