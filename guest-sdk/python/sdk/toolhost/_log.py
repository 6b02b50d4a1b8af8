"""Python's logging, written to the operator's log."""

import logging
from collections.abc import Callable
from typing import Any


class HostLog(logging.Handler):
    """Passes records on to `wasi:logging`, the logger's name as the context."""

    def __init__(self, log: Callable[[Any, str, str], None], levels: Any) -> None:
        super().__init__()
        self._log = log
        self._levels = levels

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record).encode(errors="backslashreplace").decode()
            self._log(self._level(record.levelno), record.name, text)
        except Exception:
            self.handleError(record)

    def _level(self, number: int) -> Any:
        steps = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
        names = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "CRITICAL")
        return self._levels[names[sum(number >= step for step in steps)]]


def settle_logging(log: Callable[[Any, str, str], None], levels: Any) -> None:
    """Makes the root logger write everything to the operator's log, which has a level of its own."""
    root = logging.getLogger()
    root.setLevel(logging.NOTSET)
    root.addHandler(HostLog(log, levels))
