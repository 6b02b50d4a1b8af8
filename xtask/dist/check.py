"""Installs the packages of a folder as users do, and makes a first call: `check.py FOLDER COMPONENT`.

Each is installed in an empty folder, with an empty home, no network and no program of this machine but those of
/usr/bin and /bin, and the one that installs it.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MANIFEST = """apiVersion: goondan.ai/v1
kind: Tool
metadata: {name: echo}
spec: {entry: ./echo.wasm, exports: [{name: say}]}
"""


class Place:
    """An empty folder with an empty home."""

    def __init__(self, folder: Path, component: Path):
        self.folder = folder
        self.home = folder / "home"
        self.bundle = folder / "bundle"
        self.home.mkdir(parents=True)
        self.bundle.mkdir()
        shutil.copy(component, self.bundle / "echo.wasm")
        (self.bundle / "goondan.yaml").write_text(MANIFEST)

    def run(self, *command: object, path: str = "/usr/bin:/bin") -> str:
        # The proxies point nowhere: nothing may be fetched.
        nowhere = "http://127.0.0.1:9"
        environment = {
            "HOME": str(self.home),
            "PATH": path,
            "http_proxy": nowhere,
            "https_proxy": nowhere,
        }
        words = [str(word) for word in command]
        ran = subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(f"dist: {' '.join(words)}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
        return ran.stdout

    def first_call(self, program: Path, path: str = "/usr/bin:/bin") -> str:
        """Runs `--version` and a call. Returns the version."""
        version = self.run(program, "--version", path=path).strip()
        arguments = json.dumps({"text": "hello"})
        called = self.run(program, "call", self.bundle, "echo__say", "--args", arguments, path=path)
        result = json.loads(called)
        assert result["status"] == "ok" and "hello" in called, called
        return version


def wheel(place: Place, package: Path) -> Path:
    environment = place.folder / "venv"
    place.run(sys.executable, "-m", "venv", environment)
    place.run(environment / "bin/pip", "install", "--quiet", "--no-index", "--no-deps", package)
    assert (environment / "share/man/man1/toolhost.1").is_file()
    return environment / "bin/toolhost"


def npm(place: Place, packages: list[Path]) -> tuple[Path, str] | None:
    node, installer = shutil.which("node"), shutil.which("npm")
    if node is None or installer is None:
        return None
    path = f"{Path(node).parent}:{Path(installer).parent}:/usr/bin:/bin"
    options = ("--offline", "--no-audit", "--no-fund", "--cache", place.folder / "cache")
    project = place.folder / "project"
    project.mkdir()
    (project / "package.json").write_text("{}")
    place.run(installer, "install", *options, "--prefix", project, *packages, path=path)
    return project / "node_modules/.bin/toolhost", path


def deb(place: Place, package: Path) -> Path | None:
    if shutil.which("dpkg") is None:
        return None
    system = place.folder / "system"
    state = system / "var/lib/dpkg"
    for folder in ("info", "updates", "triggers"):
        (state / folder).mkdir(parents=True)
    (state / "status").touch()
    # The C library is that of this machine.
    options = ("--force-not-root", "--force-depends", "--log=/dev/null")
    path = "/usr/sbin:/sbin:/usr/bin:/bin"
    place.run("dpkg", f"--root={system}", *options, "--install", package, path=path)
    assert "toolhost" in place.run("dpkg", f"--root={system}", "--listfiles", "toolhost", path=path)
    for file in (
        "man/man1/toolhost.1.gz",
        "bash-completion/completions/toolhost",
        "zsh/vendor-completions/_toolhost",
        "fish/vendor_completions.d/toolhost.fish",
        "doc/toolhost/copyright",
    ):
        assert (system / "usr/share" / file).is_file(), file
    return system / "usr/bin/toolhost"


def tarball(place: Place, package: Path) -> Path:
    place.run("tar", "-xzf", package)
    (unpacked,) = place.folder.glob("toolhost-*")
    assert (unpacked / "man/man1/toolhost.1").is_file()
    return unpacked / "toolhost"


def check_sums(folder: Path) -> None:
    listed = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines())
    files = {file.name for file in folder.iterdir() if file.is_file()} - {"SHA256SUMS"}
    assert set(listed) == files, "SHA256SUMS does not list the files of the folder"
    for name, digest in listed.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
    (statement,) = folder.glob("*.intoto.json")
    for subject in json.loads(statement.read_text())["subject"]:
        assert listed[subject["name"]] == subject["digest"]["sha256"], subject


def main() -> None:
    folder, component = (Path(word).resolve() for word in sys.argv[1:])
    check_sums(folder)

    def one(pattern: str) -> Path:
        (found,) = folder.glob(pattern)
        return found

    versions = set()
    with tempfile.TemporaryDirectory() as work:
        for name, install in (
            ("pip install", lambda place: wheel(place, one("*.whl"))),
            ("npm install", lambda place: npm(place, sorted(folder.glob("*.tgz")))),
            ("dpkg --install", lambda place: deb(place, one("*.deb"))),
            ("tar -x", lambda place: tarball(place, one("*-gnu.tar.gz"))),
        ):
            place = Place(Path(work, name.split()[0]), component)
            started = time.monotonic()
            program = install(place)
            if program is None:
                print(f"dist: {name}: NOT tested, as the program is missing")
                continue
            installed = time.monotonic()
            program, path = program if isinstance(program, tuple) else (program, "/usr/bin:/bin")
            versions.add(place.first_call(program, path))
            took = (installed - started, time.monotonic() - installed)
            print(f"dist: {name}: {took[0]:.1f} s; version and first call: {took[1]:.1f} s")
    assert len(versions) == 1, versions


if __name__ == "__main__":
    main()
