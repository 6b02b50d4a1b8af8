"""What a release says of itself: its components, and how it was built."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

from base import OF_LANGUAGES, rust_tools

TARGET = "x86_64-unknown-linux-gnu"
GUEST_TARGET = "wasm32-wasip2"


def canonical(value: object) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def read(root: Path, *command: str) -> str:
    ran = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return ran.stdout


def checksums(root: Path) -> dict[tuple[str, str], str]:
    """The SHA-256 of the crates of the registry. (Python reads TOML from 3.11 on.)"""
    crate = r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "([0-9a-f]{64})"'
    found = re.findall(crate, (root / "Cargo.lock").read_text())
    return {(name, version): digest for name, version, digest in found}


class Crates:
    """Crates that are linked into the program or a component, by reference."""

    def __init__(self) -> None:
        self.described: dict[str, dict] = {}
        self.dependencies: dict[str, list[str]] = {}

    def add(self, root: Path, target: str, tops: set[str]) -> None:
        """Adds packages of a workspace, and what they link."""
        command = ("metadata", "--format-version=1", "--locked", "--filter-platform", target)
        metadata = json.loads(read(root, os.environ.get("CARGO", "cargo"), *command))
        packages = {package["id"]: package for package in metadata["packages"]}
        nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        sums = checksums(root)

        def linked(key: str) -> list[str]:
            """Its dependencies, without those of builds and tests."""
            dependencies = nodes[key]["deps"]
            return sorted(
                dependency["pkg"]
                for dependency in dependencies
                if any(kind["kind"] is None for kind in dependency["dep_kinds"])
            )

        members = set(metadata["workspace_members"])
        found = {key for key in members if packages[key]["name"] in tops}
        if missing := tops - {packages[key]["name"] for key in found}:
            sys.exit(f"dist: {root} has no package {', '.join(sorted(missing))}")
        queue = list(found)
        while queue:
            new = [key for key in linked(queue.pop()) if key not in found]
            found.update(new)
            queue.extend(new)
        for key in found:
            package = packages[key]
            name = (package["name"], package["version"])
            described = {
                "type": "library",
                "bom-ref": reference(package),
                "purl": reference(package),
                "name": name[0],
                "version": name[1],
            }
            if package.get("license"):
                described["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
            if sums.get(name):
                described["hashes"] = [{"alg": "SHA-256", "content": sums[name]}]
            links = {reference(packages[of]) for of in linked(key)}
            links.update(self.dependencies.get(reference(package), []))
            self.described[reference(package)] = described
            self.dependencies[reference(package)] = sorted(links)


def reference(package: dict) -> str:
    return f"pkg:cargo/{quote(package['name'])}@{quote(package['version'], safe='')}"


def of_languages(root: Path) -> list[dict]:
    """What is linked into the tools in JavaScript and Python: engines, and the packages of the kit and the tool."""
    kit = root / "guest-sdk/typescript/build"
    # These run while a tool is built.
    builders = {"esbuild", "componentize-qjs"}
    found = npm(kit, set(json.loads((kit / "package.json").read_text())["dependencies"]) - builders)
    found += npm(kit / "starlingmonkey", {"@bytecodealliance/componentize-js"})
    for bundle in OF_LANGUAGES:
        if (root / bundle / "package.json").exists():
            found += npm(root / bundle, set(json.loads((root / bundle / "package.json").read_text())["dependencies"]))
    requirements = (root / "guest-sdk/python/requirements.txt").read_text()
    version = re.search(r"^componentize-py==(\S+)", requirements, re.MULTILINE)
    found.append(described_library("pypi", "componentize-py", version[1], "Apache-2.0 WITH LLVM-exception"))
    python = re.search(r"CPython (\d+\.\d+)", requirements)
    found.append(described_library("generic", "cpython", python[1], "PSF-2.0"))
    return found


def npm(folder: Path, names: set[str]) -> list[dict]:
    """Packages of a lock file."""
    packages = json.loads((folder / "package-lock.json").read_text())["packages"]
    locked = {name: packages[f"node_modules/{name}"] for name in sorted(names)}
    return [described_library("npm", name, at["version"], at.get("license")) for name, at in locked.items()]


def described_library(registry: str, name: str, version: str, license: str | None) -> dict:
    reference = f"pkg:{registry}/{quote(name)}@{quote(version, safe='')}"
    described = {"type": "library", "bom-ref": reference, "purl": reference, "name": name, "version": version}
    return described | ({"licenses": [{"expression": license}]} if license else {})


def sbom(root: Path, version: str) -> bytes:
    """The crates that are linked into the program and the base tools, as CycloneDX 1.5."""
    crates = Crates()
    crates.add(root, TARGET, {"toolhost-cli"})
    tools = rust_tools(root)
    # A workspace of its own.
    shell = {"bash"} & tools
    crates.add(root / "guest-examples", GUEST_TARGET, tools - shell)
    if shell:
        crates.add(root / "guest-examples/rust/bash", GUEST_TARGET, shell)
    for described in of_languages(root):
        crates.described[described["bom-ref"]] = described
        crates.dependencies[described["bom-ref"]] = []
    top = reference({"name": "toolhost-cli", "version": version})
    crates.described.pop(top)
    return canonical(
        {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {
                "component": {
                    "type": "application",
                    "bom-ref": top,
                    "name": "toolhost",
                    "version": version,
                }
            },
            "components": [crates.described[key] for key in sorted(crates.described)],
            "dependencies": [
                {"ref": key, "dependsOn": crates.dependencies[key]} for key in sorted(crates.dependencies)
            ],
        }
    )


def provenance(root: Path, sums: dict[str, str]) -> bytes:
    """How the packages were built, as an in-toto statement with a SLSA v1 predicate. It is not signed: the release
    workflow has GitHub sign one of its own."""
    commit = read(root, "git", "rev-parse", "HEAD").strip()
    changed = bool(read(root, "git", "status", "--porcelain").strip())
    compiler = read(root, os.environ.get("RUSTC", "rustc"), "--version").strip()
    return canonical(
        {
            "_type": "https://in-toto.io/Statement/v1",
            "predicateType": "https://slsa.dev/provenance/v1",
            "subject": [{"name": name, "digest": {"sha256": sums[name]}} for name in sorted(sums)],
            "predicate": {
                "buildDefinition": {
                    "buildType": "https://docs.rs/toolhost/cargo-xtask-dist/v1",
                    "externalParameters": {"target": TARGET, "hasUncommittedChanges": changed},
                    "internalParameters": {"rustc": compiler},
                    "resolvedDependencies": [
                        {"name": "source", "digest": {"gitCommit": commit}},
                    ],
                },
                "runDetails": {"builder": {"id": os.environ.get("TOOLHOST_BUILDER", "local")}},
            },
        }
    )
