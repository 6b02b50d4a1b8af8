"""Runs componentize-py, merges the modules of what it writes, and converts its errors to one sentence."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from builder.failure import MACHINE, BuildError, Note
from builder.merge import NotMergeable, merged
from builder.stage import Stage
from builder.world import WORLD

_COMPONENTIZE = "import sys; from componentize_py import script; sys.exit(script())"


def componentize(stage: Stage, packages: Path | None, out: Path) -> list[dict[str, Any]]:
    """Writes the component to `out`; an old component stays there until the new one is complete.

    Returns its handlers, as a manifest describes them.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(f"{out.name}.{os.getpid()}.tmp")
    try:
        run_componentize_py(stage, packages, unfinished)
        merge_modules(unfinished, stage.notes)
        os.replace(unfinished, out)
        return json.loads((stage.sdk / "exports.json").read_text())
    finally:
        unfinished.unlink(missing_ok=True)


def run_componentize_py(stage: Stage, packages: Path | None, out: Path) -> None:
    """Writes a component whose modules are linked as shared libraries."""
    folders = [stage.tool, stage.sdk, *([packages] if packages else [])]
    command = [
        # Isolated, and in a folder of its own: it imports no module that lies where the build was started.
        *(sys.executable, "-I", "-c", _COMPONENTIZE, "--quiet", "-d", stage.wit, "-w", WORLD, "componentize"),
        *(argument for folder in folders for argument in ("-p", folder)),
        *("toolhost_component", "-o", out),
    ]
    done = subprocess.run(command, cwd=stage.sdk.parent, env=_environment(stage), capture_output=True, text=True)
    if done.returncode != 0:
        raise _failure(stage, done.stderr)


def merge_modules(component: Path, notes: list[Note]) -> None:
    """Merges the modules of a component. If that is not possible, adds a note and leaves it as it is."""
    try:
        component.write_bytes(merged(component.read_bytes()))
    except NotMergeable as reason:
        note = (
            "the component works, but its calls take about twice as long: its modules cannot be merged, "
            f"because {reason}; report this as an error of the SDK"
        )
        notes.append(Note(note))


def _environment(stage: Stage) -> dict[str, str]:
    """Keeps packages of this machine out: componentize-py adds those that it finds."""
    nothing = stage.sdk.parent / "no-packages"
    (nothing / "lib" / "site-packages").mkdir(parents=True)
    return {**os.environ, "VIRTUAL_ENV": str(nothing), "RUST_BACKTRACE": "0"}


def _failure(stage: Stage, stderr: str) -> BuildError:
    report = stage.sdk / "report.json"
    if report.is_file():
        return _failure_of_tool(stage, json.loads(report.read_text()))
    if "No module named 'componentize_py'" in stderr:
        return BuildError(
            "componentize-py is not installed for this Python",
            "run pip install --require-hashes -r requirements.txt in the folder of the SDK",
            exit_code=MACHINE,
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
