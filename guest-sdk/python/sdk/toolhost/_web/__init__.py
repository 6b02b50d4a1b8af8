"""The web for libraries that open connections: sockets that speak HTTP, answered by `wasi:http`.

A library writes the bytes of a request to a socket and reads those of the answer, as on any machine. Here the request is
read from these bytes (`request`), the host sends it (`exchange`), and its response becomes bytes again (`wire`). The host has
the connection, TLS and the policy.
"""

import importlib.util
import logging
import os
import sys
from types import ModuleType

from .._waiting import settle_asyncio


# Libraries that log many lines of each request at the level DEBUG, which formatting them would slow down.
_VERBOSE = ("asyncio", "httpcore", "urllib3")

# Modules that libraries for HTTP import, and that are not in this interpreter, or have no use in it.
_STAND_INS = {"ssl": "tls.py", "certifi": "roots.py", "concurrent.interpreters": "interpreters.py"}


def open_web() -> None:
    """Gives `socket` and `ssl` what speaks HTTP: before the tool's modules are imported."""
    from . import sockets

    sockets.install()
    for name in _VERBOSE:
        logging.getLogger(name).setLevel(logging.INFO)
    for name, file in _STAND_INS.items():
        spec = importlib.util.spec_from_file_location(name, os.path.join(os.path.dirname(__file__), file))
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


def settle_web(asyncio: ModuleType) -> None:
    """Gives asyncio an event loop with connections."""
    from .._pollables import Selector
    from .loop import Connections

    settle_asyncio(asyncio, Selector, (Connections,))


def import_rest() -> None:
    """Imports what the libraries of the tool need when they are used, while files can still be imported."""
    from .connecting import settle_httpcore
    from .warm_up import warm_up

    if "httpx" in sys.modules:
        importlib.import_module("asyncio")
    if asyncio := sys.modules.get("asyncio"):
        settle_web(asyncio)
    warm_up(times=1)
    settle_httpcore()
