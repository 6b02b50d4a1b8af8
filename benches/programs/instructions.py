"""Counts the instructions of WebAssembly that programs over tools take, over a host in which each call has ended at once.

    python3 -m venv target/programs && target/programs/bin/pip install wasmtime==48.0.0
    target/programs/bin/python benches/programs/instructions.py
"""

import json
import sys
from pathlib import Path
from typing import Any

from wasmtime import Config, Engine, Store
from wasmtime.component import Component, Linker, Record, ResourceHost, ResourceType

EXAMPLES = Path(__file__).parents[2] / "guest-examples"
CALLS = 1_000
FUEL = 10**12

LINES = 20
# A line of a program, with 70 characters.
LINE = "const list{} = [1, 2, 3].map((each) => each * 2).filter(Boolean);     \n"

# Of each language: its component, an empty program, and programs that make calls one after the other and 16 at once.
PROGRAMS = {
    "JavaScript": (
        "typescript/javascript/.toolhost/javascript.wasm",
        "return 1",
        "for (let i = 0; i < {calls}; i++) await tools['echo__say']({{text: 'hello'}})",
        "for (let i = 0; i < {calls}; i += 16) "
        "await Promise.all(Array.from({{length: Math.min(16, {calls} - i)}}, () => tools['echo__say']({{text: 'hello'}})))",
    ),
    "Python": (
        "python/python/.toolhost/python.wasm",
        "return 1",
        "for i in range({calls}): await tools['echo__say'](text='hello')",
        "import asyncio\nfor i in range(0, {calls}, 16): "
        "await asyncio.gather(*[tools['echo__say'](text='hello') for _ in range(min(16, {calls} - i))])",
    ),
}

POLLABLE, CALL = ResourceType.host(1), ResourceType.host(2)


def handle(store: Any, resource: int) -> Any:
    return ResourceHost.own(1, resource).to_any(store)


def of_call(answer: Any) -> Any:
    """Returns a function of a resource, which gives its handle back."""

    def function(store: Any, resource: Any) -> Any:
        resource.drop(store)
        return answer(store)

    return function


FUNCTIONS = {
    "wasi:io/poll": {
        "poll": lambda store, pollables: ([each.drop(store) for each in pollables], [*range(len(pollables))])[1],
        "[method]pollable.block": of_call(lambda _: None),
        "[method]pollable.ready": of_call(lambda _: True),
    },
    "goondan:tool/tools": {
        "names": lambda _: ["echo__say"],
        "start": lambda store, _name, _arguments: handle(store, 2),
        "[method]call.subscribe": of_call(lambda store: handle(store, 1)),
        "[method]call.get": of_call(lambda _: '{"text":"hello"}'),
    },
    "wasi:clocks/monotonic-clock": {
        "now": lambda _: 1,
        "subscribe-instant": lambda store, _: handle(store, 1),
        "subscribe-duration": lambda store, _: handle(store, 1),
    },
    "wasi:random/random": {
        "get-random-bytes": lambda _, length: bytes(length),
        "get-random-u64": lambda _: 4,
    },
    "wasi:random/insecure-seed": {"insecure-seed": lambda _: (1, 2)},
    "wasi:logging/logging": {"log": lambda *_: None},
    "wasi:cli/environment": {
        "get-environment": lambda _: [],
        "get-arguments": lambda _: [],
        "initial-cwd": lambda _: None,
    },
    "wasi:filesystem/preopens": {"get-directories": lambda _: []},
}


def names_of(items: Any) -> list[str]:
    return [item if isinstance(item, str) else item[0] for item in items]


def linked(engine: Engine, component: Component) -> Linker:
    linker = Linker(engine)
    linker.allow_shadowing = True
    with linker.root() as root:
        for name in names_of(component.type.imports(engine)):
            with root.add_instance(name) as instance:
                instance.add_resource("pollable", POLLABLE, lambda *_: None)
                if name.startswith("goondan:tool/tools"):
                    instance.add_resource("call", CALL, lambda *_: None)
                for function, answer in FUNCTIONS.get(name.partition("@")[0], {}).items():
                    instance.add_func(function, answer)
    linker.define_unknown_imports_as_traps(component)
    return linker


def instructions(engine: Engine, component: Component, linker: Linker, program: str) -> int:
    """Runs a program in a new instance, and returns what its call takes."""
    store = Store(engine)
    store.set_fuel(FUEL)
    instance = linker.instantiate(store, component)
    handlers = next(name for name in names_of(component.type.exports(engine)) if "handlers" in name)
    export = instance.get_export_index(store, "call", instance.get_export_index(store, handlers))
    context = Record()
    texts = {"agent-name": "a", "instance-key": "i", "turn-id": "t", "tool-call-id": "c", "message": "{}", "workdir": "/"}
    for name, value in {**texts, "trace-id": None}.items():
        setattr(context, name, value)
    before = store.get_fuel()
    outcome = instance.get_func(store, export)(store, "script", context, json.dumps({"code": program}))
    # An error; an output is a variant.
    if isinstance(outcome, Record):
        sys.exit(f"{program}: {vars(outcome)['message']}")
    return before - store.get_fuel()


def main() -> None:
    config = Config()
    config.consume_fuel = True
    config.cache = True
    engine = Engine(config)
    for language, (path, empty, *programs) in PROGRAMS.items():
        component = Component(engine, (EXAMPLES / path).read_bytes())
        linker = linked(engine, component)

        def count(program: str) -> int:
            return instructions(engine, component, linker, program)

        print(f"{language}: an empty program {count(empty):,}")
        for kind, program in zip(("one after the other", "16 at once"), programs, strict=True):
            few, many = (count(program.format(calls=calls)) for calls in (16, CALLS))
            print(f"{language}: a call, {kind}: {(many - few) // (CALLS - 16):,}")
        if language == "JavaScript":
            lines = "".join(LINE.format(f"{number:02}") for number in range(LINES))
            print(f"{language}: a line: {(count(lines + empty) - count(empty)) // LINES:,}")


main()
