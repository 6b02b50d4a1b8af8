"""The WIT world of one component: the contract's world."""

import re
import shutil
from pathlib import Path

WORLD = "component"


# What a component imports that speaks HTTP, and one that calls tools.
_WEB = ("wasi:http/outgoing-handler", "wasi:clocks/monotonic-clock")
_TOOLS = ("goondan:tool/tools", "wasi:clocks/monotonic-clock")


def lay_out_world(contract: Path, folder: Path, polls: bool, web: bool, tools: bool) -> None:
    """Writes the WIT of a component to `folder`."""
    deps = folder / "deps"
    shutil.copytree(contract / "deps", deps)
    shutil.copytree(contract, deps / "goondan-tool", ignore=shutil.ignore_patterns("deps"))
    versions = dict(_packages(deps))
    contract_world = "goondan:tool/async-tool" if polls else "goondan:tool/tool"
    lines = [f"include {_versioned(contract_world, versions)};"]
    names = dict.fromkeys((*(_WEB if web else ()), *(_TOOLS if tools else ())))
    lines += [f"import {_versioned(name, versions)};" for name in names]
    (folder / "world.wit").write_text("\n".join([f"package toolhost:build;\nworld {WORLD} {{", *lines, "}\n"]))


def _packages(deps: Path) -> list[tuple[str, str]]:
    """Returns name and version of each package."""
    found = (re.search(r"^package ([\w:-]+)@(.+);", file.read_text(), re.MULTILINE) for file in deps.rglob("*.wit"))
    return [(match[1], match[2]) for match in found if match]


def _versioned(name: str, versions: dict[str, str]) -> str:
    return f"{name}@{versions[name.partition('/')[0]]}"
