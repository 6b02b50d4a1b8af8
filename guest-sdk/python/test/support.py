"""Builds fixtures once, and calls them through the toolhost binary over a temporary bundle."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

SDK = Path(__file__).resolve().parent.parent
REPOSITORY = SDK.parent.parent
FIXTURES = SDK / "test" / "fixtures"

# By the file of a component, what its build said of its handlers.
EXPORTS: dict[Path, list[dict[str, Any]]] = {}

_top = tempfile.TemporaryDirectory(prefix="toolhost-test-")
TOP = Path(_top.name)

# A home of its own: neither the developer's cache nor settings.
HOME = {"HOME": str(TOP), "XDG_CACHE_HOME": str(TOP / "cache"), "XDG_STATE_HOME": str(TOP / "state")}


def build(entry: Path, out: Path, *options: str, cwd: Path | None = None) -> dict[str, Any]:
    """Runs build.py as the CLI does; returns what it says, with its exit code as `exit`."""
    command = [
        *(sys.executable, "-I", "-B", SDK / "build.py", "--json", "--entry", entry, "--out", out),
        *("--wit", REPOSITORY / "wit", "--work", TOP / "work", *options),
    ]
    if binary := os.environ.get("TOOLHOST"):
        (TOP / "bases").mkdir(exist_ok=True)
        command += ["--bases", TOP / "bases", "--resume", binary]
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **HOME}, capture_output=True, text=True)
    if not done.stdout:
        raise AssertionError(f"build.py printed nothing on stdout: {done.stderr}")
    return {**json.loads(done.stdout), "exit": done.returncode}


class Bundle:
    """A tool named `t` of one component, and a workdir. The manifest lists the exports by name, or as the build does.

    `others` are more tools: their components, by name.
    """

    def __init__(self, component: Path, exports: list[str] | None = None, others: dict[str, Path] = {}) -> None:
        self.dir = Path(tempfile.mkdtemp(prefix="bundle-", dir=TOP))
        self.workdir = self.dir / "workdir"
        self.workdir.mkdir()
        listed = [{"name": it} for it in exports] if exports else EXPORTS[component]
        tools = {"t": (component, listed), **{name: (other, EXPORTS[other]) for name, other in others.items()}}
        resources = []
        for name, (file, listed) in tools.items():
            shutil.copy(file, self.dir / f"{name}.wasm")
            spec = {"entry": f"./{name}.wasm", "exports": listed}
            resources.append({"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": name}, "spec": spec})
        (self.dir / "goondan.yaml").write_text("\n---\n".join(map(json.dumps, resources)))

    def call(self, handler: str, **args: Any) -> dict[str, Any]:
        """Returns the ToolResult, with the stderr of the host as `stderr`."""
        return self._run("call", f"t__{handler}", "--args", json.dumps(args))

    def call_granted(self, grants: dict[str, Any], handler: str, **args: Any) -> dict[str, Any]:
        """The same where the operator grants something to the tool."""
        policy = self.dir / "policy.yaml"
        policy.write_text(json.dumps({"tools": {"t": grants}}))
        return self._run("call", f"t__{handler}", "--args", json.dumps(args), "--policy", str(policy))

    def test(self, cases: list[dict[str, Any]]) -> dict[str, Any]:
        """Runs cases, and generated ones; returns the report."""
        (self.dir / "tests").mkdir(exist_ok=True)
        (self.dir / "tests" / "cases.yaml").write_text(json.dumps(cases))
        return self._toolhost("test", str(self.dir), "--json")[0]

    def poll(self, handle: str) -> dict[str, Any]:
        return self._run("poll", handle)

    def listed(self) -> list[dict[str, Any]]:
        """Returns the catalog, as the specification writes it."""
        return self._toolhost("list", str(self.dir), "--json")[0]

    def _run(self, command: str, *rest: str) -> dict[str, Any]:
        result, stderr = self._toolhost(command, "-v", str(self.dir), *rest, "--workdir", str(self.workdir))
        return {**result, "stderr": stderr}

    def _toolhost(self, *arguments: str) -> tuple[Any, str]:
        binary = os.environ.get("TOOLHOST")
        if not binary:
            raise AssertionError("set TOOLHOST to the toolhost binary")
        done = subprocess.run([binary, *arguments], env={**os.environ, **HOME}, capture_output=True, text=True)
        if not done.stdout:
            raise AssertionError(f"toolhost {' '.join(arguments)} printed nothing: {done.stderr}")
        return json.loads(done.stdout), done.stderr


@cache
def component(name: str) -> Path:
    """Builds the fixture of that name, once."""
    return _built(FIXTURES / name / "tool.py", name)


@cache
def example(name: str = "csv-stats") -> Path:
    """Builds an example, once."""
    return _built(REPOSITORY / "guest-examples" / "python" / name / "tool.py", name)


def _built(entry: Path, name: str) -> Path:
    out = TOP / f"{name}.wasm"
    reply = build(entry, out)
    if not reply["ok"]:
        raise AssertionError(reply)
    EXPORTS[out] = reply["exports"]
    print(f"{name}: {reply['bytes'] / 1e6:.1f} MB, {reply['seconds']} s", file=sys.stderr)
    return out
