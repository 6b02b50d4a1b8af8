"""Reads docstrings: the text for the model, and the descriptions of parameters.

The three usual forms are known: Google's sections (`Args:`), NumPy's (`Parameters` over a line of dashes) and
Sphinx's fields (`:param name:`).
"""

import inspect
import re
from typing import Any, NamedTuple

_OF_NAMES = frozenset(
    "args arguments parameters params attributes fields keyword_args keyword_arguments other_parameters".split()
)
# Sections that are for programmers: the schema of the result says what a model needs.
_LEFT_OUT = frozenset("returns return raises yields yield warns see_also references".split())

_GOOGLE = re.compile(r"([A-Z][A-Za-z ]*):\s*")
_GOOGLE_ITEM = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY_ITEM = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?")
_SPHINX = re.compile(r":(\w+)(?:\s+([^:]*))?:\s*(.*)")


class Docs(NamedTuple):
    """What a docstring says."""

    text: str | None
    """All but the sections about parameters, results and exceptions."""
    of: dict[str, str]
    """Descriptions of parameters or fields, by name."""


def docs_of(of: Any) -> Docs:
    """Reads the docstring of a function, or a class's own."""
    if isinstance(of, type):
        own = vars(of).get("__doc__")
        # dataclasses and named tuples make one of the signature.
        own = None if not own or own.startswith(f"{of.__name__}(") else own
    else:
        own = of.__doc__
    return _parse(inspect.cleandoc(own)) if own else Docs(None, {})


def _parse(text: str) -> Docs:
    lines = text.splitlines()
    rest: list[str] = []
    found: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        name = _section(lines, at)
        if name is not None:
            is_numpy = not line.rstrip().endswith(":")
            at += 2 if is_numpy else 1
            end = _end_of_section(lines, at, is_numpy)
            if name in _OF_NAMES:
                found |= (_numpy_items if is_numpy else _google_items)(lines[at:end])
            at = end
        elif (field := _SPHINX.fullmatch(line)) is not None:
            end = at + 1
            while end < len(lines) and (lines[end][:1].isspace() or not lines[end]):
                end += 1
            if field[1] in ("param", "parameter", "arg", "argument", "ivar", "cvar", "var") and field[2]:
                found[field[2].split()[-1]] = _joined([field[3], *lines[at + 1 : end]])
            at = end
        else:
            rest.append(line.rstrip())
            at += 1
    prose = re.sub(r"\n{3,}", "\n\n", "\n".join(rest)).strip()
    # Lines of a paragraph are one line; what is indented or in a list stays as it is.
    prose = re.sub(r"(?<=\S)\n(?=[^\s*+>#|`-])(?!\d+[.)] )", " ", prose)
    return Docs(prose or None, {name: it for name, it in found.items() if it})


def _section(lines: list[str], at: int) -> str | None:
    """Returns the name of a section that begins at a line, if it is one that is not prose."""
    line = lines[at].rstrip()
    if line.startswith(" "):
        return None
    below = lines[at + 1].strip() if at + 1 < len(lines) else ""
    if line and len(below) >= 3 and set(below) == {"-"}:
        name = line
    elif (match := _GOOGLE.fullmatch(line)) and below and lines[at + 1].startswith(" "):
        name = match[1]
    else:
        return None
    name = name.lower().replace(" ", "_")
    return name if name in _OF_NAMES or name in _LEFT_OUT else None


def _end_of_section(lines: list[str], at: int, is_numpy: bool) -> int:
    while at < len(lines):
        line = lines[at]
        if is_numpy:
            below = lines[at + 1].strip() if at + 1 < len(lines) else ""
            if line and not line.startswith(" ") and len(below) >= 3 and set(below) == {"-"}:
                return at
        elif line and not line.startswith(" "):
            return at
        at += 1
    return at


def _google_items(lines: list[str]) -> dict[str, str]:
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return _items(lines, indent, _GOOGLE_ITEM)


def _numpy_items(lines: list[str]) -> dict[str, str]:
    return _items(lines, 0, _NUMPY_ITEM)


def _items(lines: list[str], indent: int, head: re.Pattern[str]) -> dict[str, str]:
    """Reads heads at an indentation, each with the lines below it that are indented deeper."""
    texts: dict[str, list[str]] = {}
    names: list[str] = []
    for line in lines:
        at_indent = line[:indent].isspace() == (indent > 0) and not line[indent : indent + 1].isspace()
        if line.strip() and at_indent and (match := head.fullmatch(line[indent:].rstrip())):
            names = [it.strip() for it in match[1].split(",")]
            for name in names:
                texts[name] = [match[2]] if head.groups > 1 else []
        else:
            for name in names:
                texts[name].append(line)
    return {name: _joined(text) for name, text in texts.items()}


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
