"""Waits for what the host does, by its pollables, and for time."""

import time
from collections.abc import Callable
from typing import Any

from wit_world.imports import monotonic_clock, poll

# Steps of tasks after which an event loop looks what is ready.
_SKIPPED = 8


def wait_for(pollables: list[Any], timeout: float | None) -> list[int]:
    """Waits until one of the pollables is ready; returns the indices of those that are, none if the time is over."""
    if timeout is None:
        return poll.poll(pollables)
    with monotonic_clock.subscribe_duration(nanoseconds(timeout)) as clock:
        ready = poll.poll([*pollables, clock])
    return [index for index in ready if index < len(pollables)]


def nanoseconds(seconds: float) -> int:
    """No call takes a day."""
    return int(min(max(0.0, seconds), 86_400.0) * 1e9)


class Selector:
    """What an event loop waits for beside time."""

    def __init__(self) -> None:
        self._waiting: dict[Any, tuple[Any, Callable[[], Any]]] = {}
        self._skipped = 0

    def add(self, key: Any, pollable: Any, then: Callable[[], Any]) -> None:
        """Calls `then` once the pollable is ready; replaces what the key waited for."""
        self._waiting[key] = (pollable, then)

    def remove(self, key: Any) -> None:
        self._waiting.pop(key, None)

    def select(self, timeout: float | None) -> list[Callable[[], Any]]:
        """Returns what to call of what is ready."""
        keys = list(self._waiting)
        if not keys:
            if timeout is None:
                raise RuntimeError("the handler awaits something that never completes")
            if timeout:
                time.sleep(timeout)
            return []
        if timeout == 0:
            # Tasks can go on. Looking each time would take longer than most of their steps.
            self._skipped += 1
            if self._skipped % _SKIPPED:
                return []
        ready = wait_for([self._waiting[key][0] for key in keys], timeout)
        return [self._waiting.pop(keys[index])[1] for index in ready]
