"""What a release says of itself: its components, and how it was built."""

import json
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import quote

TARGET = "x86_64-unknown-linux-gnu"


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


def sbom(root: Path, version: str) -> bytes:
    """The crates that are linked into the program, as CycloneDX 1.5."""
    command = ("metadata", "--format-version=1", "--locked", "--filter-platform", TARGET)
    metadata = json.loads(read(root, os.environ.get("CARGO", "cargo"), *command))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    sums = checksums(root)
    top = next(key for key, package in packages.items() if package["name"] == "toolhost-cli")

    def linked(key: str) -> list[str]:
        """Its dependencies, without those of builds and tests."""
        dependencies = nodes[key]["deps"]
        return sorted(
            dependency["pkg"]
            for dependency in dependencies
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        )

    found, queue = {top}, [top]
    while queue:
        new = [key for key in linked(queue.pop()) if key not in found]
        found.update(new)
        queue.extend(new)

    def reference(key: str) -> str:
        package = packages[key]
        return f"pkg:cargo/{quote(package['name'])}@{quote(package['version'], safe='')}"

    def component(key: str) -> dict:
        package = packages[key]
        name = (package["name"], package["version"])
        described = {
            "type": "library",
            "bom-ref": reference(key),
            "purl": reference(key),
            "name": name[0],
            "version": name[1],
        }
        if package.get("license"):
            described["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        if sums.get(name):
            described["hashes"] = [{"alg": "SHA-256", "content": sums[name]}]
        return described

    others = sorted(found - {top}, key=reference)
    return canonical(
        {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {
                "component": {
                    "type": "application",
                    "bom-ref": reference(top),
                    "name": "toolhost",
                    "version": version,
                }
            },
            "components": [component(key) for key in others],
            "dependencies": [
                {"ref": reference(key), "dependsOn": sorted({reference(of) for of in linked(key)})}
                for key in sorted(found, key=reference)
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
