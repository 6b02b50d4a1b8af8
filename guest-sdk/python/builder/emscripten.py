"""Makes libraries of wheels for Pyodide (PEP 783) into libraries of a component.

Both are WebAssembly for CPython with the same layout of memory, linked dynamically. They differ in three ways:

- Exceptions. The host has none, so that a Rust panic ends the call: `try` becomes `block`, and what would catch is left out.
- Functions of the C library that are missing, or differ. A second library has them; each has a reviewed meaning here.
- The name of the file.
"""

import re
from pathlib import Path

from builder.merge.binary import NotMergeable, Reader, listed, name, number, sections_of, with_header

# The end of the name of an adapted library.
ADAPTED = ".cpython-314-wasm32-wasi.so"

# Functions of the C library that mean the same in both.
_SAME = frozenset("abort calloc free getentropy malloc memcmp realloc strlen".split())

_I32 = b"\x7f"
_END = b"\x0b"
_ZERO = b"\x41\x00"
_TRAP = b"\x00"
_MEMORY_BASE = 1  # Of the globals that the second library imports.

# Bodies of functions that replace others; $1 is the first parameter. One thread needs no locks.
_INSTEAD = {
    "__errno_location": b"\x23" + number(_MEMORY_BASE),
    "_Unwind_DeleteException": b"",
    "_Unwind_RaiseException": _TRAP,
    # gettimeofday writes seconds and microseconds to $2, as far apart as seconds and nanoseconds are.
    "clock_gettime": b"\x20\x01\x41\x00\x10\x00\x1a" b"\x20\x01\x20\x01\x28\x02\x08\x41\xe8\x07\x6c\x36\x02\x08" + _ZERO,
    # Writes "/".
    "getcwd": b"\x20\x00\x41\x2f\x3b\x01\x00\x20\x00",
    "getenv": _ZERO,
    "posix_memalign": b"\x20\x00\x20\x01\x41\x10\x20\x01\x41\x10\x4b\x1b"
    b"\x20\x02\x20\x01\x6a\x41\x01\x6b\x41\x00\x20\x01\x6b\x71\x10\x01\x36\x02\x00" + _ZERO,
    "strerror_r": b"\x20\x01\x41\x00\x3a\x00\x00" + _ZERO,
    # The size of a page is what Rust asks for.
    "sysconf": b"\x41\x80\x80\x04",
    "write": b"\x41\x7f",
    "writev": b"\x41\x7f",
    "pthread_cond_wait": _TRAP,
} | {
    f"pthread_{it}": _ZERO
    for it in "cond_destroy cond_init cond_signal condattr_destroy condattr_init condattr_setclock mutex_destroy mutex_init "
    "mutex_lock mutex_trylock mutex_unlock mutexattr_destroy mutexattr_init mutexattr_settype".split()
}
_PREFIX = "toolhost_"

_NUMBER = rb"[\x80-\xff]*[\x00-\x7f]"
_PLAIN = re.compile(
    rb"(?:[\x00\x01\x0f\x1a\x1b\x45-\xc4\xd1]|[\x0c\x0d\x10\x12\x20-\x26\x41\x42\xd2]" + _NUMBER +
    rb"|[\x11\x13\x28-\x3e]" + _NUMBER + _NUMBER + rb"|[\x3f\x40]" + _NUMBER + rb"|\x43.{4}|\x44.{8}|\xd0."
    rb"|\xfc(?:[\x00-\x07]|[\x08\x0a\x0c\x0e]" + _NUMBER + _NUMBER + rb"|[\x09\x0b\x0d\x0f-\x11]" + _NUMBER + rb"))*",
    re.DOTALL,
)  # fmt: skip
_A_NUMBER = re.compile(_NUMBER)
_BLOCK, _TRY, _CATCH, _CATCH_ALL, _DELEGATE, _ELSE, _BRANCHES = 0x02, 0x06, 0x07, 0x19, 0x18, 0x05, 0x0E
_THROWS = (0x08, 0x09)


def adapt(library: Path) -> None:
    """Replaces a library `X.cpython-…-emscripten.so` by two that a component can have."""
    module, stand_in = adapted(library.read_bytes())
    stem = library.name.partition(".")[0]
    library.unlink()
    library.with_name(stem + ADAPTED).write_bytes(module)
    library.with_name(f"_toolhost_of{stem}{ADAPTED}").write_bytes(stand_in)


def adapted(data: bytes) -> tuple[bytes, bytes]:
    """Returns a library for a component, and the library with the functions that it needs. Raises NotMergeable."""
    view = memoryview(data)
    types: list[bytes] = []
    needed: dict[str, bytes] = {}
    sections = []
    for section in sections_of(view):
        content = bytes(section.body)
        if section.id == 1:
            types = _types(content)
        elif section.id == 2:
            content = _imports(content, types, needed)
        elif section.id == 10:
            content = _bodies(content)
        sections.append((section.id, content))
    return with_header(view, sections), _stand_in(needed)


def _types(content: bytes) -> list[bytes]:
    reader = Reader(memoryview(content))
    types = []
    for _ in range(reader.number()):
        start = reader.at
        if reader.byte() != 0x60:
            raise NotMergeable("a type is no function's")
        for _ in range(2):
            for _ in range(reader.number()):
                reader.byte()
        types.append(content[start : reader.at])
    return types


def _imports(content: bytes, types: list[bytes], needed: dict[str, bytes]) -> bytes:
    reader = Reader(memoryview(content))
    kept = []
    for _ in range(reader.number()):
        module, item = _text(reader), _text(reader)
        start = reader.at
        kind = reader.byte()
        if kind == 4:  # The tag of exceptions.
            reader.byte()
            reader.number()
            continue
        if kind == 0:
            type = types[reader.number()]
            if item in _INSTEAD:
                item = _PREFIX + item
                needed[item] = type
            elif item not in _SAME and not item.startswith(("Py", "_Py")):
                raise NotMergeable(f"it needs `{item}`")
        else:
            if kind in (1, 3):
                reader.byte()
            for _ in range(2 if kind != 3 and reader.byte() & 1 else 1):
                reader.number() if kind != 3 else reader.byte()
        kept.append(name(module) + name(item) + content[start : reader.at])
    return listed(kept)


def _text(reader: Reader) -> str:
    return bytes(reader.byte() for _ in range(reader.number())).decode()


def _bodies(content: bytes) -> bytes:
    reader = Reader(memoryview(content))
    bodies = []
    for _ in range(reader.number()):
        size = reader.number()
        body = _without_exceptions(content[reader.at : reader.at + size])
        reader.at += size
        bodies.append(number(len(body)) + body)
    return listed(bodies)


def _without_exceptions(body: bytes) -> bytes:
    reader = Reader(memoryview(body))
    for _ in range(reader.number()):
        reader.number()
        reader.byte()
    kept = [body[: reader.at]]
    at = reader.at
    opened: list[int] = []
    # How many blocks were open where leaving out began.
    dropped: int | None = None

    def keep(part: bytes) -> None:
        if dropped is None:
            kept.append(part)

    while at < len(body):
        end = _PLAIN.match(body, at).end()  # type: ignore[union-attr]
        keep(body[at:end])
        at = end
        if at == len(body):
            break
        code = body[at]
        end = at + 1
        if code not in (_ELSE, _END[0], _CATCH_ALL):
            end = _A_NUMBER.match(body, end).end()  # type: ignore[union-attr]
        if code in (0x02, 0x03, 0x04, _TRY):
            opened.append(code)
            keep(bytes([_BLOCK if code == _TRY else code]) + body[at + 1 : end])
        elif code in (_CATCH, _CATCH_ALL):
            dropped = len(opened) if dropped is None else dropped
        elif code in (_END[0], _DELEGATE):
            if opened:
                opened.pop()
            if dropped is not None and len(opened) < dropped:
                dropped = None
            keep(_END)
        elif code in _THROWS:
            keep(_TRAP)
        elif code == _BRANCHES:
            for _ in range(Reader(memoryview(body[at + 1 : end])).number() + 1):
                end = _A_NUMBER.match(body, end).end()  # type: ignore[union-attr]
            keep(body[at:end])
        elif code == _ELSE:
            keep(body[at:end])
        else:
            raise NotMergeable(f"a function has the instruction {code:#x}")
        at = end
    return b"".join(kept)


def _stand_in(needed: dict[str, bytes]) -> bytes:
    """Returns the library with the functions that stand in for the C library's."""
    calls = dict.fromkeys(("gettimeofday", "aligned_alloc"), b"\x60\x02" + _I32 * 2 + b"\x01" + _I32)
    types = [*calls.values(), *needed.values()]
    imports = [name("env") + name(it) + b"\x00" + number(at) for at, it in enumerate(calls)]
    imports += [name("env") + name("memory") + b"\x02\x00\x00"]
    imports += [name("env") + name("__stack_pointer") + b"\x03" + _I32 + b"\x01"]
    imports += [name("env") + name("__memory_base") + b"\x03" + _I32 + b"\x00"]
    first = len(calls)
    functions = [number(first + at) for at in range(len(needed))]
    exports = [name(it) + b"\x00" + number(first + at) for at, it in enumerate(needed)]
    bodies = [b"\x00" + _INSTEAD[it.removeprefix(_PREFIX)] + _END for it in needed]
    sections = [
        # Memory of 4 bytes, aligned to 4: errno.
        (0, name("dylink.0") + b"\x01\x04\x04\x02\x00\x00"),
        (1, listed(types)),
        (2, listed(imports)),
        (3, listed(functions)),
        (7, listed(exports)),
        (10, listed([number(len(it)) + it for it in bodies])),
    ]
    return b"\0asm\x01\0\0\0" + b"".join(bytes([id]) + number(len(it)) + it for id, it in sections)
