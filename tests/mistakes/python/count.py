"""Mistakes of an author at run time, a handler for each. Exceptions are not caught."""

import json
import urllib.request
from typing import Any

from wit_world import exports
from wit_world.imports import types


def type_error() -> Any:
    return "three" + 3


def throw() -> Any:
    return [][3]


def spin() -> Any:
    while True:
        pass


def memory() -> Any:
    kept = []
    while True:
        kept.append(bytearray(b"1" * (1 << 20)))


def escape() -> Any:
    with open("../secret.txt") as file:
        return file.read()


def request() -> Any:
    with urllib.request.urlopen("http://example.org/") as response:
        return response.status


TOOLS = {
    "type-error": type_error,
    "throw": throw,
    "loop": spin,
    "memory": memory,
    "escape": escape,
    "request": request,
}


class Handlers(exports.Handlers):
    def describe(self) -> list[types.ExportSpec]:
        return [types.ExportSpec(name, None, None) for name in TOOLS]

    def call(self, name: str, context: types.ToolContext, input: str) -> types.Outcome:
        return types.Outcome_Output(json.dumps(TOOLS[name]()))
