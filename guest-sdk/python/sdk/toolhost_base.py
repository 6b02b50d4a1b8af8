"""Prepares the base: an interpreter with the SDK and without a tool, which builds continue.

A build runs the base with the folders of a tool, and keeps the memory as it then is: see builder/merge/resume.py.
"""

import os

# Free memory for the modules of a tool. What the base has is part of each component, so that components with the
# same amount of memory have the same code; one that needs more has more.
_FREE = 10 << 20

# As builder/merge/resume.py knows them.
_MARK = (b"toolhost", b":resume:")
_STATE = bytes(256)

# What an import may read while a tool is imported.
_FOLDERS = ("python", "world", "bundled")


def reserve_memory(program: bytes) -> bytes:
    """Returns an object in the memory that the build finds: a mark, zeros that it writes to, and a program to run."""
    bytes(_FREE)
    return b"".join([*_MARK, _STATE, program])


def keep_files(folder: str) -> None:
    """Copies the modules that a tool may import to `folder`: later builds have no others."""
    for name in _FOLDERS:
        _copy(f"/{name}", os.path.join(folder, name))


def _copy(path: str, to: str) -> None:
    os.makedirs(to)
    for entry in os.scandir(path):
        if entry.is_dir():
            if entry.name != "__pycache__":
                _copy(entry.path, os.path.join(to, entry.name))
        else:
            with open(entry.path, "rb") as source, open(os.path.join(to, entry.name), "wb") as copy:
                copy.write(source.read())


def compile_files(listed: str) -> None:
    """Compiles the modules in the folders that a file lists, so that later builds need not."""
    import contextlib
    import json

    from toolhost._late import prepare_file

    with open(listed) as file:
        folders = json.load(file)
    for folder in folders:
        for path, _, files in os.walk(folder):
            for file in files:
                stem, extension = os.path.splitext(file)
                if extension != ".py":
                    continue
                parts = [it for it in (*path[len(folder) :].split("/"), stem) if it and it != "__init__"]
                # Some are examples of invalid code.
                with contextlib.suppress(Exception):
                    _compile_file(os.path.join(path, file))
                    prepare_file(".".join(parts), os.path.join(path, file))


def _compile_file(path: str) -> None:
    """Writes the compiled code of a module where an import finds it. It is not compared with the source again.

    `py_compile` writes with one call of `os.write`, which writes 64 KiB at most.
    """
    import contextlib
    from importlib import _bootstrap_external, util

    with open(path, "rb") as file:
        source = file.read()
    code = compile(source, path, "exec", dont_inherit=True)
    compiled = util.cache_from_source(path)
    with contextlib.suppress(FileExistsError):
        os.mkdir(os.path.dirname(compiled))
    with open(compiled, "wb") as file:
        file.write(_bootstrap_external._code_to_hash_pyc(code, util.source_hash(source), False))
