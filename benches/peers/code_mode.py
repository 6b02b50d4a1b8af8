"""Runs a program that calls a tool many times, in Monty. Each line of standard input is a request, each line of
standard output its answer."""

import json
import sys

from pydantic_monty import Monty

PROGRAM = """
for i in range(calls):
    last = say(text)
{'calls': calls, 'last': last}
"""


def say(text: str) -> dict[str, str]:
    return {"text": text}


if __name__ == "__main__":
    with Monty() as pool:
        for line in sys.stdin:
            request = json.loads(line)
            inputs = request["input"]
            # A call is a suspension; so is the look-up of its name.
            with pool.checkout(limits={"max_suspensions": inputs["calls"] + 1}) as session:
                output = session.feed_run(PROGRAM, inputs=inputs, external_lookup={"say": say})
            print(json.dumps({"id": request["id"], "output": output}), flush=True)
