"""Builds a tool written in Python to a component. BUILD.md says how it is called."""

import argparse
import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# An isolated Python does not look for modules beside the program.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from builder.check import Tool  # noqa: E402
from builder.component import componentize  # noqa: E402
from builder.failure import BuildError, Note  # noqa: E402
from builder.packages import install_packages, once  # noqa: E402
from builder.stage import Stage, check_entry  # noqa: E402
from builder.imports import uses_tools, uses_web  # noqa: E402


def main() -> int:
    arguments = parse()
    started = time.monotonic()
    try:
        handlers, exports, notes = build(arguments)
    except BuildError as error:
        if arguments.json:
            print(json.dumps(error.to_json()))
        else:
            print(error, file=sys.stderr)
        return error.exit_code
    done = {
        "ok": True,
        "seconds": round(time.monotonic() - started, 1),
        "handlers": handlers,
        "warnings": [note.to_json() for note in notes],
    }
    if not arguments.check:
        done |= {"component": str(arguments.out), "bytes": arguments.out.stat().st_size, "exports": exports}
    if arguments.json:
        print(json.dumps(done))
        return 0
    for note in notes:
        print(note, file=sys.stderr)
    if arguments.check:
        print(f"{arguments.entry}: checked in {done['seconds']} s")
    else:
        print(f"{done['component']}: {done['bytes'] / 1e6:.1f} MB, built in {done['seconds']} s")
    return 0


def build(arguments: argparse.Namespace) -> tuple[list[str] | None, list[Any], list[Note]]:
    """Builds the component, unless it is only to be checked.

    Returns the names of the handlers, or None if only running the tool tells them, the handlers as a manifest
    describes them, and warnings for the author.
    """
    with contextlib.ExitStack() as stack:
        check_entry(arguments.entry)
        work = arguments.work or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolhost-")))
        work.mkdir(parents=True, exist_ok=True)
        # What takes a second comes first.
        tool = Tool.read(arguments.entry)
        handlers, no_handlers = handlers_of(tool)
        packages, notes = install_packages(arguments.entry.parent / "requirements.txt", work)
        # A wrong import may be why there is no handler.
        tool.check_imports(packages)
        if no_handlers:
            raise no_handlers
        if arguments.check:
            return handlers, [], [*notes, *tool.notes]
        web = uses_web(arguments.entry, packages)
        tools = uses_tools(arguments.entry)
        stage = stack.enter_context(Stage.of(arguments.entry, arguments.wit, work, web, tools, arguments.has_linker))
        exports = componentize(stage, packages, arguments.out, arguments.bases, arguments.resume)
        return [it["name"] for it in exports], exports, [*once(packages, notes), *tool.notes, *stage.notes]


def handlers_of(tool: Tool) -> tuple[list[str] | None, BuildError | None]:
    """Returns the names of the handlers, or what is wrong with them."""
    try:
        return tool.handlers(), None
    except BuildError as error:
        return None, error


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entry", type=_absolute, required=True, help="the tool's module, with its `handlers`")
    parser.add_argument("--out", type=_absolute, required=True, help="the component to write")
    parser.add_argument("--wit", type=_absolute, required=True, help="folder of the contract")
    parser.add_argument("--work", type=_absolute, help="folder that keeps installed packages from build to build")
    parser.add_argument("--bases", type=_absolute, help="folder that keeps what all tools share")
    parser.add_argument("--resume", type=_absolute, help="toolhost, which continues a base")
    parser.add_argument(
        "--without-componentize-py",
        dest="has_linker",
        action="store_false",
        help="use no componentize-py that this Python may have: say so where a build needs it",
    )
    parser.add_argument("--check", action="store_true", help="find errors without building; nothing of the tool runs")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object on stdout")
    return parser.parse_args()


def _absolute(path: str) -> Path:
    """Returns a path that programs find in any folder."""
    return Path(path).absolute()


if __name__ == "__main__":
    sys.exit(main())
