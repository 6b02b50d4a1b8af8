"""Builds components with the packages, calls each once, and prints the table of docs/authors/pypi-packages.md.

TOOLHOST=<binary> python run.py [NAME ...], with a Python that has the kit's requirements.txt installed. It needs the network.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from packages import PACKAGES
from support import EXPORTS, TOP, Bundle, build

HEAD = '''from toolhost import tool

FAILED = {}


def value(package, code):
    if package in FAILED:
        raise FAILED[package]
    return eval(code)
'''
PART = '''
try:
    import {module}
except Exception as error:
    FAILED[{package!r}] = error


@tool
def p{number}() -> object:
    return value({package!r}, {code!r})
'''


def main() -> None:
    names = sys.argv[1:]
    packages = [it for it in PACKAGES if not names or it[0] in names]
    rows = []
    # Large packages are apart from each other.
    parts = -(-len(packages) // 5)
    for start in range(parts):
        rows += called(packages[start::parts], start)
    print("| package | |\n|---|---|")
    for row in sorted(rows, key=str.lower):
        print(row)


def called(packages: list[tuple], start: int) -> list[str]:
    folder = TOP / f"packages-{start}"
    folder.mkdir()
    (folder / "requirements.txt").write_text("".join(f"{it[0]}\n" for it in packages))
    parts = [
        PART.format(module=module, package=package, number=number, code=code)
        for number, (package, module, code, _) in enumerate(packages)
    ]
    (folder / "tool.py").write_text(HEAD + "".join(parts))
    out = folder / "t.wasm"
    reply = build(folder / "tool.py", out)
    if not reply["ok"]:
        print(json.dumps(reply), file=sys.stderr)
        return [f"| {it[0]} | not built |" for it in packages]
    print(f"{reply['bytes'] / 1e6:.1f} MB, {reply['seconds']} s", file=sys.stderr)
    EXPORTS[out] = reply["exports"]
    bundle = Bundle(out)
    rows = []
    for number, (package, _, _, expected) in enumerate(packages):
        result = bundle.call(f"p{number}")
        right = result["status"] == "ok" and result.get("output") == expected
        said = "works" if right else f"fails: {result.get('error', {}).get('message', result.get('output'))}"
        print(package, said, file=sys.stderr)
        rows.append(f"| {package} | {said} |")
    return rows


if __name__ == "__main__":
    main()
