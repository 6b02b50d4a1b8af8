"""Refuses that an older major version of a package is taken because the newer one cannot be used."""

import re

from builder.distribution import Distribution, normal
from builder.failure import BuildError
from builder.native import name_of
from builder.requirements import Requirement

_SKIPPED = re.compile(r"Skipping link: (No sources permitted|none of the wheel's tags).*?(https?://\S+|file:\S+)")


def refuse_older_majors(log: str, found: dict[str, Distribution], requirements: list[Requirement], file: str) -> None:
    """Reads in pip's log which versions it has passed over."""
    # pip is installed beside the builder, and has what it compares versions with.
    from pip._vendor.packaging.requirements import InvalidRequirement
    from pip._vendor.packaging.requirements import Requirement as Parsed
    from pip._vendor.packaging.version import InvalidVersion, Version

    newest: dict[str, Version] = {}
    for match in _SKIPPED.finditer(log):
        name, version = _name_and_version(match[2])
        try:
            parsed = Version(version)
        except InvalidVersion:
            continue
        if not parsed.is_prerelease:
            newest[name] = max(parsed, newest.get(name, parsed))
    texts = [it.text.partition(" --hash")[0] for it in requirements]
    texts += [text for it in found.values() for text in it.requires]
    limits: dict[str, list[Parsed]] = {}
    for text in texts:
        try:
            limits.setdefault(name_of(text), []).append(Parsed(text))
        except InvalidRequirement:
            pass
    for it in found.values():
        newer = newest.get(it.name)
        if newer is None or newer.major <= Version(it.version).major:
            continue
        if all(limit.specifier.contains(newer) for limit in limits.get(it.name, ())):
            line = next((of.line for of in requirements if name_of(of.text) == it.name), None)
            raise BuildError(
                f"{it.name} {newer} has no wheel for Python 3.14, and {it.version} is an older major version",
                f"write {it.name}=={it.version} in requirements.txt to use that one",
                file=file,
                line=line,
            )


def _name_and_version(url: str) -> tuple[str, str]:
    file = url.partition("#")[0].rpartition("/")[2]
    stem = re.sub(r"\.(tar\.\w+|zip|tgz)$", "", file)
    if file.endswith(".whl"):
        name, version, *_ = [*file.split("-"), "", ""]
    else:
        name, _, version = stem.rpartition("-")
    return normal(name), version
