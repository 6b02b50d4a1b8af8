"""The bases that a release of toolhost has behind its program, so that a build need not make them.

`xtask/dist/python_bases.py` writes them. Each world has an archive of its own, and what all of them have in common is in one.
"""

import hashlib
import io
import json
import tarfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from builder.failure import MACHINE, BuildError

# What is at the end of a program: see host/toolhost-cli/src/base.rs.
_MAGIC = b"toolhost-bundle\n"
_FOOTER = 8 + 32 + len(_MAGIC)

_COMMON = "common"

# Most bytes of the index, as in base.rs.
_INDEX_MAX = 1 << 20


class Unusable(Exception):
    """Why a base that is there cannot be used."""


@dataclass(frozen=True)
class _Part:
    """An archive behind a program."""

    at: int
    bytes: int
    sha256: str


def unpack_base(program: Path, kit: str, world: str, folder: Path) -> bool:
    """Unpacks the base of a world to a folder that is made. Returns False if the program has none.

    Raises `Unusable` if it is damaged, or of another kit.
    """
    parts = _parts(program)
    named = [parts.get(f"kits/{kit}/{name}.tar.xz") for name in (world, _COMMON)]
    if parts and not any(path.startswith(f"kits/{kit}/") for path in parts):
        raise Unusable("it is of another version")
    if None in named:
        return False
    folder.mkdir()
    # Two threads unpack at the same time, as lzma does not hold the interpreter's lock.
    with ThreadPoolExecutor() as threads:
        for _ in threads.map(lambda part: _unpack(program, part, folder), named):
            pass
    return True


def _parts(program: Path) -> dict[str, _Part]:
    """Reads what is behind a program, by path."""
    with open(program, "rb") as file:
        size = file.seek(0, io.SEEK_END)
        if size < _FOOTER:
            return {}
        file.seek(size - _FOOTER)
        footer = file.read()
        if not footer.endswith(_MAGIC):
            return {}
        length = int.from_bytes(footer[:8], "little")
        at = size - _FOOTER - length
        if length > _INDEX_MAX or at < 0:
            raise Unusable("it is damaged")
        try:
            file.seek(at)
            index = json.loads(file.read(size - _FOOTER - at))
            parts = {}
            for entry in reversed(index):
                at -= entry["bytes"]
                if at < 0 or entry["bytes"] < 0:
                    raise Unusable("it is damaged")
                if "sha256" in entry:
                    parts[entry["path"]] = _Part(at, entry["bytes"], entry["sha256"])
        except (ValueError, KeyError, TypeError, OSError):
            raise Unusable("it is damaged") from None
    return parts


def _unpack(program: Path, part: _Part, folder: Path) -> None:
    with open(program, "rb") as file:
        file.seek(part.at)
        packed = file.read(part.bytes)
    if hashlib.sha256(packed).hexdigest() != part.sha256:
        raise Unusable("it is damaged")
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:xz") as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(folder)
    except tarfile.CompressionError as error:
        # Some builds of Python are without lzma.
        raise Unusable(f"this Python cannot unpack it: {error}") from None
    except (tarfile.TarError, EOFError, ValueError):
        raise Unusable("it is damaged") from None
    except OSError as error:
        message = f"{folder} cannot be written: {error.strerror or error}"
        raise BuildError(message, "see that the cache is writable and has room", exit_code=MACHINE) from None
