"""Sends requests with the libraries of a tool while it is built, to a server that is a constant.

This imports what the libraries import when they are first used, some by a computed name, and fills the interpreter's caches.
"""

import contextlib
import logging
import sys
from typing import Any

from . import sockets

_URLS = ("http://warm.invalid/", "https://warm.invalid/")

# The interpreter adapts a function in its first calls.
_TIMES = 8


class _Constant:
    """Answers every request."""

    def __init__(self, *_: Any) -> None:
        self._body = [b'{"a": 1}']

    def write(self, data: memoryview) -> int:
        return len(data)

    def finish(self) -> None:
        pass

    def response(self) -> tuple[int, list[tuple[str, bytes]]]:
        return 200, [("content-type", b"application/json"), ("content-length", b"8")]

    def read(self, size: int) -> bytes | None:
        return self._body.pop() if self._body else None

    def waits_for(self, writes: bool) -> None:
        pass

    def close(self) -> None:
        pass


def warm_up(times: int = _TIMES) -> None:
    """Uses the libraries that the tool has imported."""
    exchange, sockets.Exchange = sockets.Exchange, _Constant
    level = logging.root.manager.disable
    logging.disable()
    try:
        for _ in range(times):
            for url in _URLS:
                for name, use in _LIBRARIES.items():
                    if module := sys.modules.get(name):
                        # A tool may have replaced something: then its calls start without it.
                        with contextlib.suppress(Exception):
                            use(module, url)
    finally:
        sockets.Exchange = exchange
        logging.disable(level)


def _urllib(module: Any, url: str) -> None:
    with module.build_opener().open(module.Request(url, b"x", {"A": "b"}), timeout=1) as response:
        response.read()


def _requests(module: Any, url: str) -> None:
    module.get(url, params={"a": "b"}, timeout=1).json()
    module.post(url, json={"a": 1}, headers={"A": "b"}).text


def _httpx(module: Any, url: str) -> None:
    import asyncio

    module.get(url, params={"a": "b"}).json()
    with module.Client() as client:
        client.post(url, json={"a": 1}).text
    asyncio.run(_httpx_async(module, url))


async def _httpx_async(module: Any, url: str) -> None:
    async with module.AsyncClient() as client:
        (await client.get(url)).json()


def _aiohttp(module: Any, url: str) -> None:
    import asyncio

    async def get() -> None:
        async with module.ClientSession() as session, session.post(url, json={"a": 1}) as response:
            await response.json()

    asyncio.run(get())


_LIBRARIES = {"urllib.request": _urllib, "requests": _requests, "httpx": _httpx, "aiohttp": _aiohttp}
