"""Packages with native code: what replaces them, and those that work without it."""

import re

from builder.distribution import normal

# Reviewed: their native part only makes them faster, and they work without it.
WORK_WITHOUT = frozenset(
    "aiohttp charset-normalizer frozenlist markupsafe msgpack multidict propcache pyyaml rapidfuzz simplejson "
    "sqlalchemy tomli websockets wrapt yarl".split()
)

# Reviewed: their wheels for Pyodide run in a component.
RUN = frozenset(["pydantic-core"])

_JSON = "use `json` of the standard library"
_ARRAYS = "use `statistics`, `math`, `array` or lists; for large arrays, write the tool in Rust"
_TABLES = "use `csv`, `sqlite3` or `statistics` of the standard library; for large tables, write the tool in Rust"
_IMAGES = "write the tool in Rust, with the crate `image`"
_CRYPTO = "use `hashlib`, `hmac` and `secrets` of the standard library, or write the tool in Rust"
_MODELS = "call a model over HTTP, or write the tool in Rust"
_ZIP = "use `zlib`, `gzip` and `zipfile` of the standard library"
_WEB = "use `urllib.request`, requests or httpx"

# No version of these is pure Python.
_ALWAYS_NATIVE = {
    "numpy": _ARRAYS,
    "scipy": _ARRAYS,
    "scikit-learn": _ARRAYS,
    "matplotlib": "write an SVG as text, or use pygal",
    "pandas": _TABLES,
    "polars": _TABLES,
    "pyarrow": _TABLES,
    "duckdb": _TABLES,
    "lxml": "use `xml.etree.ElementTree`, defusedxml or beautifulsoup4 with `html.parser`",
    "orjson": _JSON,
    "ujson": _JSON,
    "msgspec": "use dataclasses, which @tool converts, and `json`",
    "cryptography": _CRYPTO,
    "pynacl": _CRYPTO,
    "bcrypt": _CRYPTO,
    "argon2-cffi": _CRYPTO,
    "pillow": _IMAGES,
    "opencv-python": _IMAGES,
    "opencv-python-headless": _IMAGES,
    "torch": _MODELS,
    "tensorflow": _MODELS,
    "transformers": _MODELS,
    "tokenizers": _MODELS,
    "tiktoken": _MODELS,
    "regex": "use `re` of the standard library",
    "psutil": "a component has no processes; remove it",
    "psycopg2": "databases are reached over HTTP only, or use `sqlite3`",
    "psycopg2-binary": "databases are reached over HTTP only, or use `sqlite3`",
    "brotli": _ZIP,
    "lz4": _ZIP,
    "zstandard": _ZIP,
    "pycurl": _WEB,
    "grpcio": _WEB,
}

# Of packages that need native code in their newer versions, or that others need.
_OLDER = {
    "pydantic": "use the newest version of pydantic; or dataclasses or TypedDict, which @tool converts and checks",
    "pydantic-core": "use the newest version of pydantic; or dataclasses or TypedDict, which @tool converts and checks",
    "jsonschema": "use fastjsonschema; or write jsonschema<4.18, which is pure Python",
    "rpds-py": "use fastjsonschema; or write jsonschema<4.18, which is pure Python",
    "jiter": "call the API over HTTP with requests or httpx",
}

ANOTHER = "use a package that is pure Python (a wheel named …-none-any.whl), or one of the standard library"


def name_of(requirement: str) -> str:
    """Returns the name of the package that a requirement names."""
    return normal(re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0])


def refused_at_once(requirement: str) -> str | None:
    """Returns what replaces a package of which no version is pure Python."""
    return _ALWAYS_NATIVE.get(name_of(requirement))


def instead_of(*names: str) -> str:
    """Returns what replaces the first of the packages for which it is known."""
    known = _OLDER | _ALWAYS_NATIVE
    return next((known[name] for name in names if name in known), ANOTHER)
