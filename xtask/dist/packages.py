"""Writes the packages of a release: `packages.py BINARY OUT`, from the root of the repository.

The same binary gives the same bytes. Everything is made from the binary (man pages, completions, version), from the
components of the base tools and the bases of Python, which are put behind the binary, from LICENSE, README.md and
the Cargo.locks, and from `cargo metadata`.
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from archives import Member, ar, gzipped, tar_gz, zipped
from base import archive
from statements import provenance, sbom

# At PyPI, `toolhost` belongs to others.
NAME = "toolhost-cli"
SUMMARY = "Runs AI agents' tools as WASI components: each call in a fresh sandbox"
# The oldest C library that the binary of a release runs with.
GLIBC_MAX = (2, 28)


class Binary:
    """The program, and what it prints of itself."""

    def __init__(self, path: Path, root: Path):
        self.path = path.resolve()
        self.data = path.read_bytes() + archive(root)
        words = self.prints("--version").split()
        self.version = words[1]
        found = re.findall(rb"GLIBC_(\d+)\.(\d+)", self.data)
        self.glibc = max(((int(major), int(minor)) for major, minor in found), default=(2, 17))

    def prints(self, *args: str) -> str:
        environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
        command = [str(self.path), *args]
        ran = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return ran.stdout

    def man_pages(self) -> dict[str, bytes]:
        with tempfile.TemporaryDirectory() as folder:
            self.prints("man", folder)
            return {page.name: page.read_bytes() for page in sorted(Path(folder).iterdir())}

    def completions(self, shell: str) -> bytes:
        return self.prints("completions", shell).encode()


def tarball(binary: Binary, root: Path) -> tuple[str, bytes]:
    """The program, its man pages and completions, to be unpacked anywhere."""
    top = f"toolhost-{binary.version}-x86_64-unknown-linux-gnu"
    members = [Member(f"{top}/toolhost", binary.data, executable=True)]
    members += [Member(f"{top}/{name}", (root / name).read_bytes()) for name in ("LICENSE", "README.md")]
    members += [Member(f"{top}/man/man1/{name}", page) for name, page in binary.man_pages().items()]
    for shell, name in (("bash", "toolhost.bash"), ("zsh", "_toolhost"), ("fish", "toolhost.fish")):
        members.append(Member(f"{top}/completions/{name}", binary.completions(shell)))
    return f"{top}.tar.gz", tar_gz(members)


def wheel(binary: Binary, root: Path) -> tuple[str, bytes]:
    """A wheel that installs the program into the `bin` of an environment."""
    version = binary.version
    tag = f"py3-none-manylinux_{binary.glibc[0]}_{binary.glibc[1]}_x86_64"
    # As wheels spell it.
    spelled = NAME.replace("-", "_")
    data, info = f"{spelled}-{version}.data", f"{spelled}-{version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {version}\nSummary: {SUMMARY}\n"
        "License-Expression: Apache-2.0\nLicense-File: LICENSE\nRequires-Python: >=3.8\n"
        "Description-Content-Type: text/markdown\n\n"
    )
    kind = f"Wheel-Version: 1.0\nGenerator: toolhost dist\nRoot-Is-Purelib: false\nTag: {tag}\n"
    members = [Member(f"{data}/scripts/toolhost", binary.data, executable=True)]
    for name, page in binary.man_pages().items():
        members.append(Member(f"{data}/data/share/man/man1/{name}", page))
    readme = (root / "README.md").read_text()
    members += [
        Member(f"{info}/METADATA", (metadata + readme).encode()),
        Member(f"{info}/WHEEL", kind.encode()),
        Member(f"{info}/licenses/LICENSE", (root / "LICENSE").read_bytes()),
    ]
    record = ""
    for member in members:
        digest = base64.urlsafe_b64encode(hashlib.sha256(member.data).digest()).rstrip(b"=")
        record += f"{member.path},sha256={digest.decode()},{len(member.data)}\n"
    record += f"{info}/RECORD,,\n"
    members.append(Member(f"{info}/RECORD", record.encode()))
    return f"{spelled}-{version}-{tag}.whl", zipped(members)


def npm(binary: Binary, root: Path) -> list[tuple[str, bytes]]:
    """A package with the program, which npm installs on this platform alone, and one that starts it."""
    version = binary.version
    common = {"version": version, "license": "Apache-2.0", "description": SUMMARY}
    platform = {
        "name": f"{NAME}-linux-x64-gnu",
        **common,
        "os": ["linux"],
        "cpu": ["x64"],
        "libc": ["glibc"],
        "files": ["toolhost"],
    }
    main = {
        "name": NAME,
        **common,
        "bin": {"toolhost": "toolhost.js"},
        "files": ["toolhost.js"],
        "engines": {"node": ">=18"},
        "optionalDependencies": {platform["name"]: version},
    }
    texts = [Member(f"package/{name}", (root / name).read_bytes()) for name in ("LICENSE", "README.md")]
    program = Member("package/toolhost", binary.data, executable=True)
    starter = (Path(__file__).parent / "toolhost.js").read_bytes()
    launcher = Member("package/toolhost.js", starter, executable=True)

    def package(manifest: dict, own: Member) -> bytes:
        text = json.dumps(manifest, indent=2) + "\n"
        return tar_gz([Member("package/package.json", text.encode()), own, *texts])

    return [
        (f"{platform['name']}-{version}.tgz", package(platform, program)),
        (f"{NAME}-{version}.tgz", package(main, launcher)),
    ]


def deb(binary: Binary, root: Path) -> tuple[str, bytes]:
    """A Debian package."""
    share = "./usr/share"
    members = [Member("./usr/bin/toolhost", binary.data, executable=True)]
    for name, page in binary.man_pages().items():
        members.append(Member(f"{share}/man/man1/{name}.gz", gzipped(page)))
    for shell, path in (
        ("bash", "bash-completion/completions/toolhost"),
        ("zsh", "zsh/vendor-completions/_toolhost"),
        ("fish", "fish/vendor_completions.d/toolhost.fish"),
    ):
        members.append(Member(f"{share}/{path}", binary.completions(shell)))
    members.append(Member(f"{share}/doc/toolhost/copyright", (root / "LICENSE").read_bytes()))
    size = sum(len(member.data) for member in members) // 1024
    glibc = ".".join(map(str, binary.glibc))
    control = (
        f"Package: toolhost\nVersion: {binary.version}-1\nArchitecture: amd64\n"
        "Maintainer: The toolhost authors\n"
        f"Installed-Size: {size}\nDepends: libc6 (>= {glibc})\nSection: devel\nPriority: optional\n"
        f"Description: {SUMMARY}\n"
    )
    sums = "".join(
        f"{hashlib.md5(member.data, usedforsecurity=False).hexdigest()}  {member.path[2:]}\n"
        for member in sorted(members, key=lambda member: member.path)
    )
    about = [Member("./control", control.encode()), Member("./md5sums", sums.encode())]
    parts = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", tar_gz(about)),
        ("data.tar.gz", tar_gz(members, with_folders=True)),
    ]
    return f"toolhost_{binary.version}-1_amd64.deb", ar(parts)


def main() -> None:
    path, out = map(Path, sys.argv[1:])
    root = Path.cwd()
    binary = Binary(path, root)
    if binary.glibc > GLIBC_MAX and "TOOLHOST_DIST_ANY_GLIBC" not in os.environ:
        needed, most = (".".join(map(str, version)) for version in (binary.glibc, GLIBC_MAX))
        sys.exit(f"dist: {path} needs glibc {needed}, and a release at most {most}: build it with zig")
    packages = [tarball(binary, root), wheel(binary, root), *npm(binary, root), deb(binary, root)]
    packages.append((f"toolhost-{binary.version}.cdx.json", sbom(root, binary.version)))
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in packages}
    packages.append((f"toolhost-{binary.version}.intoto.json", provenance(root, sums)))
    listed = sorted((name, hashlib.sha256(data).hexdigest()) for name, data in packages)
    packages.append(("SHA256SUMS", "".join(f"{digest}  {name}\n" for name, digest in listed).encode()))
    out.mkdir(parents=True, exist_ok=True)
    for old in out.iterdir():
        if old.is_file():
            old.unlink()
    for name, data in packages:
        (out / name).write_bytes(data)
        print(f"dist: {out / name}, {len(data) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
