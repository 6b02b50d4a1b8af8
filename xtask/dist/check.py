"""Installs the packages of a folder as users do, and makes a first call: `check.py FOLDER COMPONENT [REGISTRY]`.

Each is installed in an empty folder, with an empty home, no network and no program of this machine but those of
/usr/bin and /bin, and the one that installs it. With the program of a registry, which runs on loopback, the tool of the
call is a package that was published and signed; without one, it is the component. Then the base tools are served
to an MCP client twice: it lists them, and calls the shell. A new tool in Python is built once, without the network: the
packages have the same program.
"""

import contextlib
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

MANIFEST = """apiVersion: goondan.ai/v1
kind: Tool
metadata: {name: echo}
spec: {entry: ./echo.wasm, exports: [{name: say}]}
"""

# One of each tool that a release must have, also of those that need Node or Python to be built.
BASE_TOOLS = {"bash__exec", "file-system__edit", "http-fetch__get", "javascript__run", "javascript__script", "json-query__query", "python__run"}
# Where tests share what is compiled: else each package starts with nothing.
SHARED = os.environ.get("TOOLHOST_DIST_CACHE")
# The cache and the state in which the guests were built, for the same reason.
GUESTS = os.environ.get("TOOLHOST_DIST_GUESTS")
# A Python that can install nothing.
PYTHON = """#!/bin/sh
[ "$2" = -m ] && echo "$3 is not there" && exit 1
exec {python} "$@"
"""


def processor_time() -> float:
    """That of the processes that were started here and have ended, with those that they started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Registry:
    """A registry of others on loopback, with a tool that was published and signed."""

    def __init__(self, program: Path, folder: Path):
        folder.mkdir()
        config = folder / "config.yml"
        settings = {
            "version": "0.1",
            "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
            "http": {"addr": "127.0.0.1:0"},
        }
        config.write_text(json.dumps(settings))
        self.process = subprocess.Popen(
            [program, "serve", config], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        for line in self.process.stderr:
            if "listening on " in line:
                self.reference = line.split("listening on ")[1].split('"')[0] + "/me/echo:1.0"
                break
        else:
            sys.exit("dist: the registry ended")
        # Its log has a line for each request.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def publish(self, place: "Place", program: Path, component: Path) -> None:
        place.write_bundle(component)
        place.run(program, "sign", "--new-key", place.folder / "own")
        place.run(program, "publish", self.reference, place.bundle, "--key", place.folder / "own")
        self.key = place.folder / "own.pub"


class Place:
    """An empty folder with an empty home."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.home = folder / "home"
        self.bundle = folder / "bundle"
        self.home.mkdir(parents=True)
        self.bundle.mkdir()

    def write_bundle(self, component: Path) -> None:
        shutil.copy(component, self.bundle / "echo.wasm")
        (self.bundle / "goondan.yaml").write_text(MANIFEST)

    def environment(self, path: str) -> dict[str, str]:
        # The proxies point nowhere: nothing may be fetched.
        nowhere = "http://127.0.0.1:9"
        variables = {
            "HOME": str(self.home),
            "PATH": path,
            "http_proxy": nowhere,
            "https_proxy": nowhere,
        }
        if SHARED:
            variables |= {"XDG_CACHE_HOME": f"{SHARED}/cli-cache", "XDG_STATE_HOME": f"{SHARED}/cli-state"}
        return variables

    def run(self, *command: object, path: str = "/usr/bin:/bin", code: int = 0, **variables: str) -> str:
        """Runs a program that ends with this exit code. Returns what it prints, or why it failed."""
        environment = self.environment(path) | variables
        words = [str(word) for word in command]
        ran = subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, text=True)
        if ran.returncode != code:
            sys.exit(f"dist: {' '.join(words)}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
        return ran.stderr if code else ran.stdout

    def first_call(self, program: Path, registry: Registry | None, path: str = "/usr/bin:/bin") -> str:
        """Runs `--version` and a call, of a tool of the registry if there is one. Returns the version."""
        version = self.run(program, "--version", path=path).strip()
        policy = self.folder / "policy.yaml"
        policy.write_text("{}")
        if registry:
            signers = {"own": {"key": registry.key.read_text()}}
            policy.write_text(json.dumps({"packages": {"signers": signers}}))
            self.run(program, "add", registry.reference, self.bundle, "--policy", policy, path=path)
        arguments = json.dumps({"text": "hello"})
        options = ("--args", arguments, "--policy", policy)
        called = self.run(program, "call", self.bundle, "echo__say", *options, path=path)
        result = json.loads(called)
        assert result["status"] == "ok" and "hello" in called, called
        return version

    def base_tools(self, program: Path, path: str = "/usr/bin:/bin") -> list[str]:
        """Serves the shell to an MCP client twice, and calls it once without one. Returns how long each took."""
        workdir = self.folder / "work"
        workdir.mkdir()
        script = "echo hello > said; cat said | tr a-z A-Z"
        took = []
        for _ in range(2):
            begun = processor_time()
            result, seconds = self.over_mcp([program, "serve", "base", "--workdir", workdir], script, path)
            assert result["structuredContent"]["stdout"] == "HELLO\n", result
            listed, called = seconds
            took.append(f"{listed:.2f} s, {called:.2f} s ({processor_time() - begun:.1f} s of processor time)")
            assert (workdir / "said").read_text() == "hello\n"
        arguments = ("--workdir", workdir, "--args", json.dumps({"command": script}))
        called = self.run(program, "call", "base", "bash__exec", *arguments, path=path)
        assert json.loads(called)["output"]["stdout"] == "HELLO\n", called
        return took

    def python_tool(self, program: Path) -> float:
        """Builds and tests a new tool in Python with nothing but Python. Returns how long the build took."""
        python = self.folder / "bin/python3"
        python.parent.mkdir()
        python.write_text(PYTHON.format(python=os.path.realpath(sys.executable)))
        python.chmod(0o755)
        path = f"{python.parent}:/usr/bin:/bin"
        self.run(program, "new", "hello", "--lang", "python")
        variables = self.own_cache("of-python")
        started = time.monotonic()
        self.run(program, "build", "hello", path=path, **variables)
        took = time.monotonic() - started
        kits = Path(variables["XDG_CACHE_HOME"], "toolhost/kits")
        assert [*kits.glob("python-bases/*/*/base.wasm")] and not [*kits.glob("python-venvs/*")], [*kits.rglob("*")]
        self.run(program, "test", "hello", path=path, **variables)
        # A base that is damaged is not used.
        damaged = self.folder / "damaged"
        data = bytearray(program.read_bytes())
        data[-1_000_000] ^= 1
        damaged.write_bytes(data)
        damaged.chmod(0o755)
        variables = self.own_cache("of-damaged")
        said = self.run(damaged, "build", "hello", "--force", path=path, code=2, **variables)
        for sentence in (
            "python3 cannot make a virtual environment",
            "the base for Python that toolhost ships cannot be used: it is damaged",
        ):
            assert sentence in said, said
        assert not [*self.folder.glob("of-damaged/toolhost/kits/python-bases/*/*")]
        return took

    def own_cache(self, name: str) -> dict[str, str]:
        """A cache without kits, in which the bases of the guests are compiled."""
        cache = self.folder / name / "toolhost"
        cache.mkdir(parents=True, mode=0o700)
        if GUESTS is None:
            return {"XDG_CACHE_HOME": str(cache.parent)}
        for compiled in Path(GUESTS, "cache/toolhost").glob("*.cwasm"):
            # Others may remove it meanwhile.
            with contextlib.suppress(FileNotFoundError):
                os.link(compiled, cache / compiled.name)
        return {"XDG_CACHE_HOME": str(cache.parent), "XDG_STATE_HOME": str(Path(GUESTS, "state"))}

    def over_mcp(self, command: list, script: str, path: str) -> tuple[dict, list[float]]:
        """Lists the tools, and calls the shell. Returns the result, and the seconds until either answer."""
        words = [str(word) for word in command]
        started, answers = time.monotonic(), {}
        with subprocess.Popen(
            words,
            cwd=self.folder,
            env=self.environment(path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as server:
            client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "dist", "version": "1"}}
            call = {"name": "bash__exec", "arguments": {"command": script}}
            for message in (
                {"id": 1, "method": "initialize", "params": client},
                {"method": "notifications/initialized"},
                {"id": 2, "method": "tools/list"},
                {"id": 3, "method": "tools/call", "params": call},
            ):
                server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
                server.stdin.flush()
            for line in server.stdout:
                answer = json.loads(line)
                answers[answer.get("id")] = (answer.get("result"), time.monotonic() - started)
                if {2, 3} <= answers.keys():
                    server.stdin.close()
                    server.wait()
                    (listed, until_listed), (result, until_called) = answers[2], answers[3]
                    names = {tool["name"] for tool in listed["tools"]}
                    assert names >= BASE_TOOLS, names
                    return result, [until_listed, until_called]
        sys.exit(f"dist: {' '.join(words)}: ended without an answer")


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
    folder, component, *registries = (Path(word).resolve() for word in sys.argv[1:])
    check_sums(folder)

    def one(pattern: str) -> Path:
        (found,) = folder.glob(pattern)
        return found

    versions = set()
    # On the file system of what is compiled.
    with tempfile.TemporaryDirectory(dir=folder.parent) as work, contextlib.ExitStack() as ended:
        registry = None
        for program in registries:
            registry = Registry(program, Path(work, "registry"))
            ended.callback(registry.process.kill)
            publisher = Place(Path(work, "publisher"))
            registry.publish(publisher, tarball(publisher, one("*-gnu.tar.gz")), component)
        what = "add and first call of a signed package" if registry else "first call"
        for name, install in (
            ("pip install", lambda place: wheel(place, one("*.whl"))),
            ("npm install", lambda place: npm(place, sorted(folder.glob("*.tgz")))),
            ("dpkg --install", lambda place: deb(place, one("*.deb"))),
            ("tar -x", lambda place: tarball(place, one("*-gnu.tar.gz"))),
        ):
            place = Place(Path(work, name.split()[0]))
            if not registry:
                place.write_bundle(component)
            started = time.monotonic()
            program = install(place)
            if program is None:
                print(f"dist: {name}: NOT tested, as the program is missing")
                continue
            installed = time.monotonic()
            program, path = program if isinstance(program, tuple) else (program, "/usr/bin:/bin")
            versions.add(place.first_call(program, registry, path))
            took = (installed - started, time.monotonic() - installed)
            print(f"dist: {name}: {took[0]:.1f} s; version, {what}: {took[1]:.1f} s")
            first, again = place.base_tools(program, path)
            print(f"dist: {name}: serve base, tools listed and bash__exec over MCP: {first}; again: {again}")
            if name == "tar -x":
                print(f"dist: {name}: a new tool in Python is built: {place.python_tool(program):.1f} s")
    assert len(versions) == 1, versions


if __name__ == "__main__":
    main()
