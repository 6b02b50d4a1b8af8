"""The bases that tools in Python are built on: `guest-sdk/python/builder/shipped.py` unpacks them.

`cargo xtask guests` and `dist` make them. Each is a folder of an interpreter for the imports of some tools, and
of the library that tools may import.
"""

import hashlib
import io
import lzma
import re
import sys
import tarfile
from pathlib import Path

from archives import EPOCH, LEVEL

# Where builds of guests keep them, by the kit.
BASES = "target/guests-build/cache/toolhost/kits/python-bases"
# A component that was built with the kit, which it names.
COMPONENT = "guest-examples/python/python/.toolhost/python.wasm"


def bases(root: Path) -> list[tuple[str, bytes]]:
    """The archives of the kit that built the base tools."""
    kit = re.search(rb'"kit":"(python-[0-9a-f]{16})"', (root / COMPONENT).read_bytes())
    folder = root / BASES / (kit[1].decode() if kit else "")
    worlds = {base.parent.name: files(base.parent) for base in sorted(folder.glob("*/base.wasm"))}
    if not kit or not worlds:
        sys.exit(f"dist: {folder} has no base for Python: run `cargo xtask guests`")
    print(f"dist: {len(worlds)} bases for Python: {', '.join(worlds)}")
    return archives(folder.name, worlds)


def archives(kit: str, worlds: dict[str, dict[str, bytes]]) -> list[tuple[str, bytes]]:
    """One archive for each base, and one of the files that all have in common."""
    first, *others = worlds.values()
    common = {path: data for path, data in first.items() if all(other.get(path) == data for other in others)}
    own = {name: {path: data for path, data in of.items() if path not in common} for name, of in worlds.items()}
    return [(f"kits/{kit}/{name}.tar.xz", packed(of)) for name, of in {**own, "common": common}.items()]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def packed(files: dict[str, bytes]) -> bytes:
    """Packs files, those of a kind beside each other: there is more that repeats."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(files, key=lambda path: (Path(path).suffix, path)):
            info = tarfile.TarInfo(path)
            info.size, info.mode, info.mtime = len(files[path]), 0o644, EPOCH
            tar.addfile(info, io.BytesIO(files[path]))
    # Its dictionary holds all of an archive.
    return lzma.compress(out.getvalue(), preset=9 if LEVEL > 1 else 0)


def index_of(archives: list[tuple[str, bytes]]) -> list[dict]:
    """Entries of the index: builds compare the digests before they unpack."""
    return [
        {"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for path, data in archives
    ]
