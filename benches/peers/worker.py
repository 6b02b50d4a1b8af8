"""Does the works of the benchmark in CPython. Each line of standard input is a request, each line of standard
output its answer. With `once` it answers one request and exits."""

import json
import sys
from typing import Any


def echo(input: Any) -> Any:
    return input


def count(input: dict[str, Any]) -> Any:
    """The tool `csv-stats`; its folder is on the path, and so is the SDK."""
    from tool import count

    return count(None, input)


WORKS = {"echo": echo, "count": count}


def answer(line: str) -> str:
    request = json.loads(line)
    output = WORKS[request["work"]](request["input"])
    return json.dumps({"id": request["id"], "output": output}, separators=(",", ":")) + "\n"


if sys.argv[1:] == ["once"]:
    sys.stdout.write(answer(sys.stdin.read()))
else:
    for line in sys.stdin:
        sys.stdout.write(answer(line))
        sys.stdout.flush()
