"""Writes the component of a tool: by continuing the base, or in one go."""

import json
import os
from pathlib import Path
from typing import Any

from builder.base import Base
from builder.emscripten import ADAPTED
from builder.failure import Note
from builder.linked import run_componentize_py
from builder.merge import NotMergeable, merged
from builder.stage import Stage


def componentize(
    stage: Stage, packages: Path | None, out: Path, bases: Path | None, program: Path | None
) -> list[dict[str, Any]]:
    """Writes the component to `out`; an old component stays there until the new one is complete.

    With a folder for bases and the program that continues them, only the tool is new. Returns the handlers of the
    component, as a manifest describes them.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = out.with_name(f"{out.name}.{os.getpid()}.tmp")
    try:
        # A base has no libraries of packages.
        is_native = packages is not None and next(packages.rglob(f"*{ADAPTED}"), None) is not None
        base = Base.of(stage, bases, program) if bases and program and not is_native else None
        if base:
            base.with_tool(stage, packages, unfinished)
        else:
            run_componentize_py(stage, packages, unfinished)
            merge_modules(unfinished, stage.notes)
        os.replace(unfinished, out)
        return json.loads((stage.sdk / "exports.json").read_text())
    finally:
        unfinished.unlink(missing_ok=True)


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
