"""The data files of packages, which `importlib.resources` and `pkgutil.get_data` read during a call.

They are in memory as an archive, since a call sees no files of the build.
"""

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zipfile import ZipFile

# Sources, and what only builds, compilers and type checkers read.
_NO_DATA = (".py", ".pyc", ".kept", ".pyi", ".pyx", ".pxd", ".c", ".h", ".cpp", "py.typed")


class Resources:
    """The data files beneath some folders of modules."""

    def __init__(self, roots: Iterable[str]) -> None:
        self._roots = [root.rstrip("/") + "/" for root in roots]
        self.archive: ZipFile | None = None
        self.packages: list[str] = []
        """Packages with data: their names are often computed."""

    def collect(self) -> None:
        """Reads the files."""
        found = [(root, name) for root in self._roots for name in _files(root)]
        if not found:
            return
        from io import BytesIO
        from zipfile import ZIP_DEFLATED, ZipFile

        buffer = BytesIO()
        with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
            for root, name in found:
                with open(root + name, "rb") as file:
                    data = file.read()
                # The rest of it is the page of the package in the index.
                archive.writestr(name, data.partition(b"\n\n")[0] if name.endswith(".dist-info/METADATA") else data)
        self.archive = ZipFile(buffer)
        # Paths in messages begin with it.
        self.archive.filename = ""
        folders = {name.rpartition("/")[0]: root for root, name in found}
        self.packages = [it.replace("/", ".") for it, root in folders.items() if _is_package(root + it)]

    def has(self, path: str) -> bool:
        """Whether a file is in one of the folders."""
        return path.startswith(tuple(self._roots))

    def beneath(self, folder: str) -> Any:
        """Returns a folder of the archive, as `importlib.resources` shows it."""
        from zipfile import Path

        return Path(self.archive, self._name(folder).rstrip("/") + "/")

    def read(self, path: str) -> bytes:
        if self.archive is not None:
            try:
                return self.archive.read(self._name(path))
            except KeyError:
                pass
        raise FileNotFoundError(2, "No such file in the component", path)

    def distributions(self, name: str | None) -> Iterator[Any]:
        """Finds the metadata of packages, for `importlib.metadata`."""
        from importlib.metadata import PathDistribution, Prepared

        wanted = Prepared(name).normalized if name else None
        for it in self.archive.namelist() if self.archive else ():
            folder, _, file = it.rpartition("/")
            if file == "METADATA" and wanted in (None, Prepared(folder.partition("-")[0]).normalized):
                yield PathDistribution(self.beneath(folder))

    def _name(self, path: str) -> str:
        """Returns the name in the archive."""
        root = next((it for it in self._roots if path.startswith(it)), "")
        return os.path.normpath(path[len(root) :])


class Reader:
    """What a loader gives `importlib.resources`."""

    def __init__(self, resources: Resources, folder: str) -> None:
        self._resources = resources
        self._folder = folder

    def files(self) -> Any:
        return self._resources.beneath(self._folder)


def _files(root: str) -> Iterator[str]:
    """Names the data files beneath a folder."""
    for folder, folders, files in os.walk(root):
        folders[:] = [it for it in folders if it != "__pycache__"]
        inside = folder.removeprefix(root)
        for file in files if inside else ():
            if inside.endswith(".dist-info") and file not in ("METADATA", "entry_points.txt"):
                continue
            if not file.endswith(_NO_DATA):
                yield f"{inside}/{file}"


def _is_package(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "__init__.py"))
