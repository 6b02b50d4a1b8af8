"""Builds a tool written in Python to a component. BUILD.md says how it is called."""

import argparse
import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path

from builder.component import componentize
from builder.failure import BuildError
from builder.packages import install_packages
from builder.stage import Stage


def main() -> int:
    arguments = parse()
    started = time.monotonic()
    try:
        notes = build(arguments)
    except BuildError as error:
        if arguments.json:
            print(json.dumps(error.to_json()))
        else:
            print(error, file=sys.stderr)
        return error.exit_code
    done = {
        "ok": True,
        "component": str(arguments.out),
        "bytes": arguments.out.stat().st_size,
        "seconds": round(time.monotonic() - started, 1),
        "warnings": [{"text": note} for note in notes],
    }
    if arguments.json:
        print(json.dumps(done))
    else:
        for note in notes:
            print(f"note: {note}", file=sys.stderr)
        print(f"{done['component']}: {done['bytes'] / 1e6:.1f} MB, built in {done['seconds']} s")
    return 0


def build(arguments: argparse.Namespace) -> list[str]:
    """Builds the component and returns warnings for the author."""
    with contextlib.ExitStack() as stack:
        work = arguments.work or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolhost-")))
        work.mkdir(parents=True, exist_ok=True)
        stage = stack.enter_context(Stage.of(arguments.entry, arguments.wit, work))
        packages = install_packages(arguments.entry.parent / "requirements.txt", work)
        componentize(stage, packages, arguments.out)
        return stage.notes


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entry", type=Path, required=True, help="the tool's module, with its `handlers`")
    parser.add_argument("--out", type=Path, required=True, help="the component to write")
    parser.add_argument("--wit", type=Path, required=True, help="folder of the contract")
    parser.add_argument("--work", type=Path, help="folder that keeps installed packages from build to build")
    parser.add_argument("--json", action="store_true", help="say what came of it as one JSON object on stdout")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
