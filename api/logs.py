"""The log of the service: one line per event, as text or JSON, with the ids of its request and its job."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from pythonjsonlogger.core import RESERVED_ATTRS

REQUEST: ContextVar[str | None] = ContextVar("request", default=None)
JOB: ContextVar[str | None] = ContextVar("job", default=None)

_TEXT = "%(asctime)s %(levelname)-7s %(name)s %(message)s%(ids)s"
_JSON = "%(levelname)s %(name)s %(message)s"
_ONLY_IN_TEXT = ("ids", "color_message")
_QUIET = ("sqlalchemy", "httpx", "asyncio")
"""Loggers of libraries whose lines below the level WARNING are suppressed."""


@contextmanager
def log_context(request_id: str | None, job_id: str | None) -> Iterator[None]:
    """Add the ids of a request and a job to all lines that are logged in the block or in tasks started in it."""
    tokens = [(name, name.set(value)) for name, value in ((REQUEST, request_id), (JOB, job_id))]
    try:
        yield
    finally:
        for name, token in tokens:
            name.reset(token)


def log_config(log_format: Literal["text", "json"]) -> dict[str, Any]:
    """Return the configuration for `logging.config.dictConfig`: all lines go to standard error in one format."""
    formatters: dict[str, Any] = {
        "text": {"format": _TEXT},
        "json": {
            "()": "pythonjsonlogger.json.JsonFormatter",
            "fmt": _JSON,
            "rename_fields": {"levelname": "level", "name": "logger"},
            "timestamp": "time",
            "reserved_attrs": [*RESERVED_ATTRS, *_ONLY_IN_TEXT],
        },
    }
    handler = {"class": "logging.StreamHandler", "formatter": log_format, "filters": ["ids"]}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"ids": {"()": "memplan.api.logs.Ids"}},
        "formatters": {log_format: formatters[log_format]},
        "handlers": {"stderr": handler},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {name: {"level": "WARNING"} for name in _QUIET},
    }


class Ids(logging.Filter):
    """A logging filter that adds the current request id and job id to each record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the ids to a record, and return True, because no record is dropped."""
        values = {"request_id": REQUEST.get(), "job_id": JOB.get()}
        ids = {name: value for name, value in values.items() if value is not None}
        record.__dict__.update(ids)
        record.ids = "".join(f" {name}={value}" for name, value in ids.items())
        return True


class _RefusalCounter(logging.Handler):
    """A logging handler that calls `count` with the solver of each refused plan or bound that a search logs."""

    count: Callable[[str], object] = staticmethod(lambda _solver: None)

    def emit(self, record: logging.LogRecord) -> None:
        """Count the refusal that a record is about, if any."""
        if (solver := getattr(record, "refused_solver", None)) is not None:
            self.count(solver)


REFUSALS = _RefusalCounter(logging.WARNING)
"""The counter of this process; a server counts in its metrics, and its child processes report to the server."""


def count_refusals(count: Callable[[str], object]) -> None:
    """Call `count` from now on with the solver of each plan or bound that is refused in this process."""
    REFUSALS.count = count
    logging.getLogger("memplan").addHandler(REFUSALS)
