"""The packages that a tool's requirements.txt names; all must be pure Python."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from builder.failure import MACHINE, BuildError
from builder.requirements import Requirement, as_text, read_requirements
from builder.stage import refuse_native_code

# The version of the interpreter inside the component.
_PYTHON_VERSION = "3.14"


def install_packages(file: Path, work: Path) -> Path | None:
    """Installs the packages that requirements.txt names, once for the same packages, and returns the folder."""
    if not file.is_file():
        return None
    requirements = read_requirements(file)
    digest = hashlib.sha256("\n".join(it.text for it in requirements).encode()).hexdigest()[:16]
    folder = work / f"packages-{digest}"
    if folder.is_dir():
        return folder
    with tempfile.TemporaryDirectory(prefix="packages-", dir=work) as unfinished:
        target = Path(unfinished, "target")
        target.mkdir()
        _pip(file, requirements, Path(unfinished))
        refuse_native_code(target, "a package of requirements.txt")
        shutil.rmtree(target / "bin", ignore_errors=True)
        try:
            os.rename(target, folder)
        except OSError:
            if not folder.is_dir():  # Otherwise another build was faster.
                raise
    return folder


def _pip(file: Path, requirements: list[Requirement], folder: Path) -> None:
    """Installs into `folder/target`. pip sees neither the author's file nor its folder, only what was read of it."""
    written = folder / "requirements.txt"
    written.write_text(as_text(requirements), encoding="ascii")
    # Wheels for any machine and any interpreter contain no native code, and installing them runs nothing.
    pure = ["--only-binary=:all:", "--platform=any", "--implementation=py", "--abi=none"]
    command = [
        *(sys.executable, "-I", "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--no-compile"),
        *(*pure, f"--python-version={_PYTHON_VERSION}", "--target", folder / "target", "-r", written),
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode == 0:
        return
    stderr = done.stderr.replace(str(written), str(file))
    detail = "\n".join(it for it in stderr.splitlines() if it.startswith("ERROR"))
    if "NewConnectionError" in stderr or "ConnectTimeout" in stderr:
        raise BuildError(
            "the packages of requirements.txt cannot be fetched",
            "connect to the package index, or set PIP_INDEX_URL",
            detail=detail,
            exit_code=MACHINE,
        )
    raise BuildError(
        f"a package has no version for Python {_PYTHON_VERSION} without native code",
        "check the name, or use a package that is pure Python (a wheel named …-none-any.whl)",
        file=str(file),
        detail=detail or stderr[-2000:],
    )
