"""Mistakes of an author at run time, a handler for each."""

import urllib.request
from typing import Any

from toolhost import Context


def type_error(ctx: Context, input: dict[str, Any]) -> Any:
    return "three" + 3


def throw(ctx: Context, input: dict[str, Any]) -> Any:
    return [][3]


def spin(ctx: Context, input: dict[str, Any]) -> Any:
    while True:
        pass


def memory(ctx: Context, input: dict[str, Any]) -> Any:
    kept = []
    while True:
        kept.append(bytearray(b"1" * (1 << 20)))


def escape(ctx: Context, input: dict[str, Any]) -> Any:
    with open("../secret.txt") as file:
        return file.read()


def request(ctx: Context, input: dict[str, Any]) -> Any:
    with urllib.request.urlopen("http://example.org/") as response:
        return response.status


handlers = {
    "type-error": type_error,
    "throw": throw,
    "loop": spin,
    "memory": memory,
    "escape": escape,
    "request": request,
}
