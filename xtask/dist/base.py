"""What is behind the program: the base tools, the bases of kits, an index, a footer.

`host/toolhost-cli/src/base.rs` reads the base tools.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

from python_bases import bases, index_of

MAGIC = b"toolhost-bundle\n"
BUNDLE = "guest-examples/base"

# Bundles of one tool each, which need Node or Python to be built. Only the shipped bundle has them.
OF_LANGUAGES = ["guest-examples/typescript/javascript", "guest-examples/python/python"]


def manifest(root: Path) -> str:
    """That of the bundle, with the tools of the languages."""
    tools, _, agent = (root / BUNDLE / "goondan.yaml").read_text().rpartition("---\n")
    for bundle in OF_LANGUAGES:
        name = Path(bundle).name
        tool, _, _ = (root / bundle / "goondan.yaml").read_text().partition("---\n")
        tool = re.sub(r"^  entry: .*$", f"  entry: ./.toolhost/{name}.wasm", tool, flags=re.MULTILINE)
        tools += "---\n" + re.sub(r"^#.*\n", "", tool)
        agent += f"    - Tool/{name}\n"
    return f"{tools}---\n{agent}"


def components(manifest: str) -> list[str]:
    return sorted(set(re.findall(r"^  entry: \./\.toolhost/([\w-]+)\.wasm$", manifest, re.MULTILINE)))


def rust_tools(root: Path) -> set[str]:
    """The tools that are crates."""
    return set(components((root / BUNDLE / "goondan.yaml").read_text()))


def contents(root: Path) -> list[tuple[str, bytes]]:
    """The files: the manifest, its components, and their cases."""
    text = manifest(root)
    of_languages = {Path(bundle).name: root / bundle for bundle in OF_LANGUAGES}
    files = [("goondan.yaml", text.encode())]
    for name in components(text):
        folder = of_languages.get(name, root / BUNDLE)
        files.append((f".toolhost/{name}.wasm", read(folder / ".toolhost" / f"{name}.wasm")))
    for case in sorted((root / BUNDLE / "tests").glob("*.yaml")):
        files.append((f"tests/{case.name}", read(case)))
    for name, folder in of_languages.items():
        for case in sorted((folder / "tests").glob("*.yaml")):
            files.append((f"tests/{name}-{case.name}", read(case)))
    return files


def read(path: Path) -> bytes:
    if not path.is_file():
        sys.exit(f"dist: {path} is missing: run `cargo xtask guests`")
    return path.read_bytes()


def archive(root: Path) -> bytes:
    """What is appended to the program."""
    return appended(contents(root), bases(root))


def appended(files: list[tuple[str, bytes]], kits: list[tuple[str, bytes]]) -> bytes:
    index = json.dumps([*({"path": path, "bytes": len(data)} for path, data in files), *index_of(kits)]).encode()
    body = b"".join(data for _, data in [*files, *kits]) + index
    return body + len(index).to_bytes(8, "little") + hashlib.sha256(body).digest() + MAGIC
