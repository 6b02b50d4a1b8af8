"""The packages in a folder, as their metadata describes them."""

import re
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path


@dataclass(frozen=True)
class Distribution:
    """An installed package."""

    name: str
    """In the form that compares equal: `ruamel-yaml`."""
    version: str
    requires: tuple[str, ...]
    """The requirements of it, as its metadata writes them."""
    is_pure: bool
    """Whether its wheel is for any machine."""
    files: tuple[Path, ...]

    def native_files(self) -> list[Path]:
        return [it for it in self.files if it.suffix in NATIVE and it.is_file()]


NATIVE = (".so", ".pyd", ".dylib")


def normal(name: str) -> str:
    """Returns the name of a package in the form that compares equal."""
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions(folder: Path) -> dict[str, Distribution]:
    """Returns the packages in a folder, by name."""
    found = {}
    for info in sorted(folder.glob("*.dist-info")):
        metadata = HeaderParser().parsestr((info / "METADATA").read_text(encoding="utf-8", errors="replace"))
        wheel = HeaderParser().parsestr((info / "WHEEL").read_text(encoding="utf-8", errors="replace"))
        record = (info / "RECORD").read_text(encoding="utf-8", errors="replace").splitlines()
        name = normal(metadata["Name"])
        found[name] = Distribution(
            name,
            metadata["Version"],
            tuple(metadata.get_all("Requires-Dist") or ()),
            all(tag.endswith("-none-any") for tag in wheel.get_all("Tag") or ()),
            tuple(folder / line.split(",")[0].strip('"') for line in record if not line.startswith("..")),
        )
    return found
