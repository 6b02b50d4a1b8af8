"""Runs componentize-py, and converts its errors to one sentence."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from builder.failure import MACHINE, BuildError
from builder.stage import Stage
from builder.world import WORLD

_COMPONENTIZE = "import sys; from componentize_py import script; sys.exit(script())"


def run_componentize_py(stage: Stage, packages: Path | None, out: Path) -> None:
    """Writes a component whose modules are linked as shared libraries."""
    if not stage.has_linker:
        raise no_linker()
    folders = [stage.tool, stage.sdk, *([packages] if packages else [])]
    command = [
        # Isolated, and in a folder of its own: it imports no module that lies where the build was started.
        *(sys.executable, "-I", "-c", _COMPONENTIZE, "--quiet", "-d", stage.wit, "-w", WORLD, "componentize"),
        *(argument for folder in folders for argument in ("-p", folder)),
        *("toolhost_component", "-o", out),
    ]
    done = subprocess.run(command, cwd=stage.sdk.parent, env=_environment(stage), capture_output=True, text=True)
    if done.returncode != 0:
        raise failure_of(stage, done.stderr)


def _environment(stage: Stage) -> dict[str, str]:
    """Keeps packages of this machine out: componentize-py adds those that it finds."""
    nothing = stage.sdk.parent / "no-packages"
    (nothing / "lib" / "site-packages").mkdir(parents=True)
    return {**os.environ, "VIRTUAL_ENV": str(nothing), "RUST_BACKTRACE": "0"}


def failure_of(stage: Stage, stderr: str) -> BuildError:
    report = stage.sdk / "report.json"
    if report.is_file():
        return _failure_of_tool(stage, json.loads(report.read_text()))
    if "No module named 'componentize_py'" in stderr:
        return no_linker()
    if (needs := re.search(r"(wasi:http/\S+|wasi:\S+|goondan:\S+) is not there while a tool is built", stderr)) is not None:
        what = "sends a request" if needs[1].startswith("wasi:http") else f"calls {needs[1]}"
        return BuildError(
            f"the tool {what} while it is imported",
            "move the call into the function: the build imports the module, without a host",
        )
    if "component-init-get-memory" in stderr:
        return BuildError(
            "the modules and packages of the tool take more than 100 MB of memory once they are imported",
            "name fewer packages in requirements.txt, or import less of them",
        )
    return BuildError(
        "componentize-py could not build the component",
        "the error is in the SDK, not in the tool; report it with this output",
        detail=stderr[-4000:].strip(),
        exit_code=MACHINE,
    )


def no_linker() -> BuildError:
    return BuildError(
        "componentize-py is not installed for this Python",
        "run pip install --require-hashes -r requirements.txt in the folder of the SDK",
        exit_code=MACHINE,
        lacks="componentize-py",
    )


def _failure_of_tool(stage: Stage, report: dict[str, Any]) -> BuildError:
    file = re.sub(r"^/\d+/", "", report["file"] or "")
    place = {"file": file, "line": report["line"]} if file else {}
    missing = report["missing"]
    if report["is_handlers"]:
        return BuildError(report["message"], "correct the module and build again", **place)
    if missing and missing.partition(".")[0] in sys.stdlib_module_names:
        message = f"the component's Python has no module `{missing}`"
        return BuildError(message, "remove the import: a component has no processes, terminals or C libraries", **place)
    if missing:
        message = f"module `{missing}` was not found"
        return BuildError(message, "put the module beside the entry, or add its package to requirements.txt", **place)
    message = f"importing the tool failed: {report['kind']}: {report['message']}"
    return BuildError(message, "correct the module: the build imports it, without a workdir", **place)
