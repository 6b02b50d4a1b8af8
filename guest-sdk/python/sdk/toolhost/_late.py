"""Imports during a call.

A component is the interpreter's memory after the tool's modules were imported; the files they came
from are not there when it runs. So what an `import` inside a function may reach, in the tool's own
modules, in packages and in the standard library, is compiled now. What the tool's functions import of the standard
library, and what the functions of those modules import, is imported now; packages and the rest of the library are
kept compressed.
Modules of the tool and of packages run when they are imported, as their authors wrote.
"""

import contextlib
import dis
import gc
import importlib
import linecache
import marshal
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import resolve_name, spec_from_loader
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from ._resources import Reader, Resources

# Imported by name or from C, without an import statement.
_HIDDEN = ("_strptime", "encodings")

# Imported by self-tests and debuggers of modules; large, and useless in a call.
_LEFT_OUT = frozenset(
    "_pyrepl ctypes curses distutils doctest ensurepip idlelib multiprocessing pdb pip pydoc "
    "pydoc_data setuptools ssl test tkinter turtle unittest venv webbrowser".split()
)

# The end of the name of a file with the code of a module and what it may import.
_PREPARED = ".kept"

# Python code that stands in for modules in C that this interpreter has.
_STANDS_IN = frozenset("_pydatetime _pydecimal _pyio _pylong _threading_local".split())


# The folders of the standard library (not that of `os`, which is part of the interpreter) and of the SDK.
_LIBRARY = os.path.dirname(dis.__file__) + "/"
_SDK = os.path.dirname(os.path.dirname(__file__))


class Kept(NamedTuple):
    """A module that may be imported later."""

    origin: str | None
    folders: list[str] | None
    """The folders with the modules of a package; None for a module."""
    code: CodeType | bytes
    """Compressed if it is of a package or of the standard library."""


class LateImports(MetaPathFinder, Loader):
    """Finds and runs the modules that were kept."""

    def __init__(self, then: dict[str, Callable[[ModuleType], None]], resources: Resources) -> None:
        self._resources = resources
        self._kept: dict[str, Kept] = {}
        self._then = then
        # Packages that import by computed names, and so may import any module of theirs, with their folders.
        self._whole: dict[str, str] = {}
        self._seen_whole: set[str] = set()
        # The folders of the tool and of the SDK.
        self._own: tuple[str, ...] = ()
        # By the name of each module, what it may import.
        self._imports_of: dict[str, list[str]] = {}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        kept = self._kept.get(fullname)
        if kept is None:
            return None
        spec = spec_from_loader(fullname, self, origin=kept.origin, is_package=kept.folders is not None)
        if spec is not None and kept.origin is not None:
            spec.has_location = True
        if spec is not None and kept.folders is not None:
            spec.submodule_search_locations = kept.folders
        return spec

    def exec_module(self, module: ModuleType) -> None:
        code = self._kept[module.__name__].code
        exec(marshal.loads(zlib.decompress(code)) if isinstance(code, bytes) else code, module.__dict__)
        if then := self._then.get(module.__name__):
            then(module)

    def get_resource_reader(self, fullname: str) -> Reader | None:
        folders = sys.modules[fullname].__spec__.submodule_search_locations
        return Reader(self._resources, folders[0]) if folders and self._resources.archive else None

    def get_data(self, path: str) -> bytes:
        return self._resources.read(path)

    def find_distributions(self, context: Any) -> Iterator[Any]:
        return self._resources.distributions(context.name)

    def keep(self, tool_folder: str) -> None:
        """Keeps the modules that the loaded modules may import, and those that these may import."""
        self._own = (f"{tool_folder}/", f"{_SDK}/")
        waiting = [name for name, module in sys.modules.items() if _source_loader(module)]
        waiting += [*_HIDDEN, *_modules_beneath("encodings", sys.modules["encodings"].__path__[0])]
        waiting += [*_modules_beneath("", tool_folder), *self._resources.packages]
        seen = set(waiting)
        while waiting:
            for name in self._keep_one(waiting.pop()):
                if name not in seen and name.partition(".")[0] not in _LEFT_OUT:
                    seen.add(name)
                    waiting.append(name)
            while self._whole:
                names = {*_modules_beneath(*self._whole.popitem())} - seen
                seen |= names
                waiting += names

    def serve_data(self) -> None:
        """Becomes the loader of the packages that are loaded, whose own would look for files."""
        for module in [*sys.modules.values()]:
            spec = getattr(module, "__spec__", None)
            if _source_loader(module) and spec.submodule_search_locations and self._resources.has(spec.origin):
                spec.loader = module.__loader__ = self

    def import_library(self) -> None:
        """Imports what the tool reaches of the standard library, so that no call has to."""
        own = (__package__, "toolhost_component")
        tool = [name for name in self._imports_of if not self._of_library(name) and name.partition(".")[0] not in own]
        direct = {name for module in tool for name in self._imports_of[module]}
        reached = direct.union(*(self._imports_of.get(name, ()) for name in direct), _HIDDEN)
        for name in sorted(reached & self._kept.keys()):
            if self._of_library(name) and name not in _STANDS_IN:
                # Some need a module in C that is not there: importing them in a call raises the error.
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
        for name in self._kept.keys() & sys.modules.keys():
            del self._kept[name]
        self._imports_of.clear()

    def _of_library(self, name: str) -> bool:
        kept, loaded = self._kept.get(name), sys.modules.get(name)
        origin = kept.origin if kept else getattr(loaded, "__file__", None)
        return origin is None or origin.startswith(_LIBRARY)

    def _keep_one(self, name: str) -> list[str]:
        """Keeps a module that is not loaded, and returns what it may import."""
        loaded = sys.modules.get(name)
        spec = loaded.__spec__ if loaded else self._find_file(name)
        if spec is None:
            return []
        folders = None if spec.submodule_search_locations is None else [*spec.submodule_search_locations]
        if not isinstance(spec.loader, SourceFileLoader):
            # A folder without __init__.py is a package with nothing to run.
            if loaded is None and folders:
                self._kept[name] = Kept(None, folders, compile("", name, "exec"))
            return []
        try:
            # A module may have been loaded under another name than its own.
            compressed, imports = _prepared(spec.name, spec.loader)
        except SyntaxError:
            return []
        own, of_package = spec.origin.startswith(self._own), self._resources.has(spec.origin)
        code = marshal.loads(zlib.decompress(compressed)) if own or of_package else None
        if loaded is None:
            self._kept[name] = Kept(spec.origin, folders, code if own and code else compressed)
        top = name.partition(".")[0]
        if top not in self._seen_whole and of_package and code and _computes_imports(code):
            self._seen_whole.add(top)
            if (outer := self._folder_of(top)) is not None:
                self._whole[top] = outer
        self._imports_of[name] = imports
        return imports

    def _folder_of(self, package: str) -> str | None:
        """Returns the folder of a top-level package that is loaded or kept."""
        kept = self._kept.get(package)
        folders = kept.folders if kept else getattr(sys.modules.get(package), "__path__", None)
        return folders[0] if folders else None

    def _find_file(self, name: str) -> ModuleSpec | None:
        parent = name.rpartition(".")[0]
        if not parent:
            return PathFinder.find_spec(name)
        if loaded := sys.modules.get(parent):
            folders = getattr(loaded, "__path__", None)
        else:
            if parent not in self._kept:
                self._keep_one(parent)
            folders = self._kept[parent].folders if parent in self._kept else None
        return PathFinder.find_spec(name, folders) if folders else None


def settle_imports(tool_folder: str, then: dict[str, Callable[[ModuleType], None]]) -> None:
    """Makes imports work without files: to be called when the tool's modules have been imported.

    `then` is what to do with a module, by name, once it has been imported.
    """
    for name, settle in then.items():
        if name in sys.modules:
            settle(sys.modules[name])
    resources = Resources(it for it in sys.path if it.startswith("/") and not f"{it}/".startswith((_LIBRARY, _SDK)))
    resources.collect()
    late = LateImports(then, resources)
    late.keep(tool_folder)
    if resources.archive is not None:
        late.serve_data()
    _remember_sources(tool_folder, tuple(f"{it}/" for it in sys.path if it))
    # A file of the workdir is never a module.
    sys.meta_path[:] = [it for it in sys.meta_path if it is not PathFinder] + [late]
    sys.path.clear()
    sys.path_importer_cache.clear()
    # What is imported next takes the place of what compiling has left.
    gc.collect()
    late.import_library()


def _prepared(name: str, loader: SourceFileLoader) -> tuple[bytes, list[str]]:
    """Returns the compressed code of a module, and what it may import."""
    with contextlib.suppress(OSError), open(loader.path + _PREPARED, "rb") as file:
        return marshal.load(file)
    code = loader.get_code(name)
    package = name if loader.is_package(name) else name.rpartition(".")[0]
    return zlib.compress(marshal.dumps(code)), list(_imports(code, package))


def prepare_file(name: str, path: str) -> None:
    """Writes beside a module what builds need of it."""
    prepared = _prepared(name, SourceFileLoader(name, path))
    with open(path + _PREPARED, "wb") as file:
        marshal.dump(prepared, file)


def _imports(code: CodeType, package: str) -> Iterator[str]:
    """Names every module that a code may import; some are only names within one."""
    for name, level, names in dis._find_imports(code):
        if level:
            try:
                name = resolve_name("." * level + name, package)
            except ImportError:
                continue
        yield name
        for item in names or ():
            yield f"{name}.{item}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _imports(constant, package)


def _computes_imports(code: CodeType) -> bool:
    """Whether a code calls what imports modules by name."""
    return not {"import_module", "__import__"}.isdisjoint(code.co_names) or any(
        _computes_imports(it) for it in code.co_consts if isinstance(it, CodeType)
    )


def _modules_beneath(package: str, folder: str) -> Iterator[str]:
    """Names the modules in a folder, and in those of them that are packages."""
    for entry in os.scandir(folder):
        stem, extension = os.path.splitext(entry.name)
        name = f"{package}.{stem}" if package else stem
        if extension == ".py" and stem != "__init__" and stem.isidentifier():
            yield name
        elif stem not in ("test", "tests") and os.path.exists(os.path.join(entry.path, "__init__.py")):
            yield name
            yield from _modules_beneath(name, entry.path)


def _source_loader(module: ModuleType) -> bool:
    return isinstance(getattr(module.__spec__, "loader", None), SourceFileLoader)


def _remember_sources(folder: str, folders: tuple[str, ...]) -> None:
    """Keeps the source lines of the tool, which tracebacks show.

    Those of other modules are not there in a call, and looking for them would be an access to the workdir.
    """
    read = linecache.updatecache
    linecache.updatecache = lambda filename, *rest: [] if filename.startswith(folders) else read(filename, *rest)
    for path, _, files in os.walk(folder):
        for file in files:
            if file.endswith(".py"):
                full = os.path.join(path, file)
                with open(full, encoding="utf-8", errors="replace") as source:
                    lines = source.readlines()
                # An entry without a modification time is never read again.
                linecache.cache[full] = (sum(map(len, lines)), None, lines, full)
