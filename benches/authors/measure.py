"""Measures how long an author waits from a saved change to the first call that it answers.

    python3 benches/authors/measure.py --toolhost target/release/toolhost [NAME…]

Each folder beside this file has the same three tools. It is copied, installed and built once; then the file is changed
ROUNDS times. Where a framework does not reload, the server is built and started again, as its users do. Prints a table.
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROUNDS = 5
# Longest wait for an answer after a change, in seconds.
PATIENCE = 300

# By folder: the file that an author edits, what is installed once, what builds, what serves, the name of the tool, and
# whether the server reloads.
SERVERS: dict[str, dict[str, Any]] = {
    "fastmcp": {
        "file": "server.py",
        "install": [[sys.executable, "-m", "venv", "venv"], ["venv/bin/pip", "install", "-q", "-r", "requirements.txt"]],
        "serve": ["venv/bin/python", "server.py"],
    },
    "typescript-sdk": {
        "file": "server.ts",
        "install": [["npm", "install", "--silent", "--no-audit", "--no-fund"]],
        "serve": ["node_modules/.bin/tsx", "server.ts"],
    },
    "rmcp": {"file": "src/main.rs", "build": ["cargo", "build", "--quiet"], "serve": ["target/debug/bench"]},
    "toolhost-python": {"file": "tool.py"},
    "toolhost-typescript": {"file": "index.ts"},
    "toolhost-rust": {"file": "src/lib.rs"},
}


class Client:
    """An MCP client over the standard streams of a server."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._id = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.request("initialize", hello)
        self._send({"method": "notifications/initialized"})

    def convert(self, tool: str) -> float | None:
        """Returns what 0 °C are in °F, or nothing if the call fails."""
        result = self.request("tools/call", {"name": tool, "arguments": {"value": 0, "direction": "c_to_f"}})
        return result.get("structuredContent", {}).get("value")

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self._id and "method" not in message:
                return message.get("result", {})
        raise SystemExit(f"{self.process.args} ended")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SERVERS)}")
    parser.add_argument("--toolhost", type=Path, default=Path("target/release/toolhost"))
    arguments = parser.parse_args()
    print("| folder | files | lines | seconds: median (least to most) |\n|---|---|---|---|")
    for name in arguments.names or SERVERS:
        files, lines = size(HERE / name)
        with tempfile.TemporaryDirectory(prefix="authors-") as top:
            folder = Path(shutil.copytree(HERE / name, Path(top, name)))
            seconds = measured(SERVERS[name], folder, arguments.toolhost.absolute())
        median = statistics.median(seconds)
        print(f"| {name} | {files} | {lines} | {median:.1f} ({min(seconds):.1f} to {max(seconds):.1f}) |", flush=True)


def size(folder: Path) -> tuple[int, int]:
    """Returns the number of files, and of their lines that are not empty."""
    files = [it for it in folder.rglob("*") if it.is_file()]
    lines = [line for it in files for line in it.read_text().splitlines() if line.strip()]
    return len(files), len(lines)


def measured(server: dict[str, Any], folder: Path, toolhost: Path) -> list[float]:
    for command in server.get("install", []):
        run(command, folder)
    return reloading(server, folder, toolhost) if "serve" not in server else restarting(server, folder)


def restarting(server: dict[str, Any], folder: Path) -> list[float]:
    """The server is built, if need be, and started after each change."""
    seconds = []
    client = None
    for offset in range(32, 33 + ROUNDS):
        started = change(folder / server["file"], offset)
        if client:
            client.close()
        if "build" in server:
            run(server["build"], folder)
        client = Client(server["serve"], folder)
        value = client.convert("convert")
        seconds.append(time.monotonic() - started)
        assert value == offset, value
    client.close()
    # The first build is no change.
    return seconds[1:]


def reloading(server: dict[str, Any], folder: Path, toolhost: Path) -> list[float]:
    """`toolhost dev` builds and reloads by itself."""
    seconds = []
    client = Client([str(toolhost), "dev", "."], folder)
    wait(client, 32)
    for offset in range(33, 33 + ROUNDS):
        # What runs after a reload, such as tests, is not part of the next one.
        time.sleep(3)
        started = change(folder / server["file"], offset)
        wait(client, offset)
        seconds.append(time.monotonic() - started)
    client.close()
    return seconds


def wait(client: Client, offset: int) -> None:
    until = time.monotonic() + PATIENCE
    while client.convert("bench__convert") != offset:
        if time.monotonic() > until:
            raise SystemExit(f"no answer with {offset} after {PATIENCE} s")
        time.sleep(0.02)


def change(file: Path, offset: int) -> float:
    """Saves another constant. Returns when."""
    file.write_text(re.sub(r"(OFFSET(: f64)? = )\d+", rf"\g<1>{offset}", file.read_text(), count=1))
    return time.monotonic()


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command} failed: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
