"""The base tools behind the program: contents, index, footer. `host/toolhost-cli/src/base.rs` reads them."""

import hashlib
import json
import re
import sys
from pathlib import Path

MAGIC = b"toolhost-bundle\n"
BUNDLE = "guest-examples/base"


def entries(root: Path) -> list[str]:
    """The components that the manifest names, from its folder."""
    manifest = (root / BUNDLE / "goondan.yaml").read_text()
    return sorted(set(re.findall(r"^  entry: \./(\.toolhost/[\w-]+\.wasm)$", manifest, re.MULTILINE)))


def base_tools(root: Path) -> bytes:
    """What is appended to the program."""
    folder = root / BUNDLE
    cases = [f"tests/{case.name}" for case in sorted((folder / "tests").glob("*.yaml"))]
    files: list[tuple[str, bytes]] = []
    for path in ["goondan.yaml", *entries(root), *cases]:
        if not (folder / path).is_file():
            sys.exit(f"dist: {folder / path} is missing: run `cargo xtask guests`")
        files.append((path, (folder / path).read_bytes()))
    index = json.dumps([{"path": path, "bytes": len(data)} for path, data in files]).encode()
    body = b"".join(data for _, data in files) + index
    return body + len(index).to_bytes(8, "little") + hashlib.sha256(body).digest() + MAGIC
