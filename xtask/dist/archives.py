"""Archives whose bytes depend on their contents alone: sorted, with one date and no owners."""

import gzip
import io
import os
import tarfile
import zipfile
from dataclasses import dataclass

# The oldest date that a zip archive can hold.
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))
ZIP_DATE = (1980, 1, 1, 0, 0, 0)
# 1 in tests, where the size does not matter.
LEVEL = int(os.environ.get("TOOLHOST_DIST_LEVEL", "9"))


@dataclass(frozen=True)
class Member:
    """A file of an archive."""

    path: str
    data: bytes
    executable: bool = False

    @property
    def mode(self) -> int:
        return 0o755 if self.executable else 0o644


def gzipped(data: bytes) -> bytes:
    """Compresses without a name and a date."""
    return gzip.compress(data, LEVEL, mtime=0)


def tar_gz(members: list[Member], with_folders: bool = False) -> bytes:
    """Writes a compressed tar archive. `with_folders` adds an entry for each folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        folders: set[str] = set()
        for member in sorted(members, key=lambda member: member.path):
            if with_folders:
                for folder in parents(member.path):
                    if folder not in folders:
                        folders.add(folder)
                        info = tarfile.TarInfo(folder)
                        info.type, info.mode, info.mtime = tarfile.DIRTYPE, 0o755, EPOCH
                        tar.addfile(info)
            info = tarfile.TarInfo(member.path)
            info.size, info.mode, info.mtime = len(member.data), member.mode, EPOCH
            tar.addfile(info, io.BytesIO(member.data))
    return gzipped(out.getvalue())


def parents(path: str) -> list[str]:
    """Returns the folders of a path, the outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: end + 1]) for end in range(len(parts)) if parts[end] != "."]


def zipped(members: list[Member]) -> bytes:
    """Writes a zip archive, in the order of the members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for member in members:
            info = zipfile.ZipInfo(member.path, ZIP_DATE)
            info.external_attr = (0o100000 | member.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, member.data)
    return out.getvalue()


def ar(members: list[tuple[str, bytes]]) -> bytes:
    """Writes an ar archive, as .deb packages are."""
    out = bytearray(b"!<arch>\n")
    for name, data in members:
        header = f"{name:<16}{EPOCH:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n"
        out += header.encode() + data + (b"\n" if len(data) % 2 else b"")
    return bytes(out)
