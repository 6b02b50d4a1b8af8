"""Reads a tool's requirements.txt, once. What pip reads is a file that `as_text` writes."""

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from builder.failure import BuildError

# Largest file, in bytes.
_BYTES_MAX = 1 << 20

# Where pip and Python look for an encoding, in the first two lines.
_CODING = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")

_COMMENT = re.compile(r"(^|\s)#.*")

_HASH = re.compile(r"(?:^|\s)--hash=(sha(?:256|384|512):[0-9a-f]+)(?=\s|$)")

# NAME[EXTRAS] SPECIFIERS of a package in the index.
_PACKAGE = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[A-Za-z0-9._,\s-]*\])?"
    r"\s*\(?(\s*[<>=!~]=?=?\s*[0-9A-Za-z.*+!_-]+\s*,?)*\s*\)?",
    re.ASCII,
)

# Names, texts in quotes, comparisons and parentheses; no option, URL or variable.
_MARKER = re.compile(r"""(?!.*--)[A-Za-z0-9_.,*+!<>=~'"()\s-]+""", re.ASCII)

# pip takes such a name as that of a file, wherever it is run.
_ARCHIVE = re.compile(r".*\.(whl|zip|tar|t[bglx]z|tar\.(gz|bz2|xz|lz|lzma))", re.IGNORECASE)


@dataclass(frozen=True)
class Requirement:
    """A package of the index, in ASCII and on one line."""

    line: int
    """Where it begins in the author's file."""
    text: str


def read_requirements(file: Path) -> list[Requirement]:
    """Refuses all but packages of the index: files could change unnoticed, and source packages run code."""
    requirements = []
    for number, line in _joined(file, _decoded(file)):
        text = requirement_of(line)
        if text is None:
            raise BuildError(
                "this line of requirements.txt is not a package of the index",
                "write NAME==VERSION, and no option, URL or file; an index is named by PIP_INDEX_URL",
                file=str(file),
                line=number,
                detail=line.strip(),
            )
        if text:
            requirements.append(Requirement(number, text))
    return requirements


def as_text(requirements: list[Requirement]) -> str:
    """Returns the file for pip. Each requirement has the line number that it has in the author's file."""
    lines = [""] * max((it.line for it in requirements), default=0)
    for it in requirements:
        lines[it.line - 1] = it.text
    return "".join(f"{line}\n" for line in lines)


def requirement_of(line: str) -> str | None:
    """Returns a line without comments as it is given to pip; empty if it names nothing. None for anything else."""
    text = line.strip()
    if not text.isascii() or not text.isprintable():
        return None
    hashes = _HASH.findall(text)
    package, semicolon, marker = _HASH.sub("", text).partition(";")
    package, marker = package.strip(), marker.strip()
    if not package:
        return None if semicolon or hashes else ""
    if _PACKAGE.fullmatch(package) is None or _ARCHIVE.fullmatch(package):
        return None
    if semicolon and _MARKER.fullmatch(marker) is None:
        return None
    condition = [f"; {marker}"] if semicolon else []
    return " ".join([package, *condition, *(f"--hash={it}" for it in hashes)])


def _decoded(file: Path) -> str:
    with file.open("rb") as opened:
        data = opened.read(_BYTES_MAX + 1)
    if len(data) > _BYTES_MAX:
        raise BuildError(f"the file is larger than {_BYTES_MAX} bytes", "name fewer packages in it", file=str(file))
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError:
        raise BuildError("the file is not UTF-8", "save it as UTF-8", file=str(file)) from None
    for number, line in enumerate(text.splitlines()[:2], 1):
        declared = _CODING.match(line)
        if declared and declared[1].lower() not in ("utf-8", "utf8", "ascii", "us-ascii"):
            raise BuildError(
                f"the line declares the encoding `{declared[1]}`, and requirements.txt is read as UTF-8",
                "save the file as UTF-8, and remove the line",
                file=str(file),
                line=number,
            )
    return text


def _joined(file: Path, text: str) -> list[tuple[int, str]]:
    """Removes comments, and joins lines that end with a backslash. Each has the number of its first line."""
    joined: list[tuple[int, str]] = []
    is_continued = False
    number = 0
    for number, line in enumerate(text.splitlines(), 1):
        line = _COMMENT.sub("", line).rstrip()
        rest = line.removesuffix("\\")
        if is_continued:
            first, before = joined[-1]
            joined[-1] = (first, f"{before} {rest}")
        else:
            joined.append((number, rest))
        is_continued = rest != line
    if is_continued:
        raise BuildError("the file ends within a line", "remove the `\\` at its end", file=str(file), line=number)
    return joined
