"""The workers of a scheduler as an executor of `concurrent.futures`: `memplan bench --scheduler`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from functools import partial
from typing import ParamSpec, TypeVar

from memplan.api.cluster import dask
from memplan.api.cluster.dask import KilledWorker
from memplan.planner.errors import OptionError

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def workers_of(address: str) -> Iterator[Executor]:
    """Connect to a scheduler, and yield its workers; raises OptionError where there is none."""
    dask.set_up()
    try:
        client = dask.client(address, is_asynchronous=False)
    except (OSError, ValueError) as error:
        raise OptionError(f"scheduler: cannot connect to {address}: {error}") from error
    with client:
        yield _Workers(client.get_executor(pure=False), address)


class _Workers(Executor):
    """Runs functions on workers; one whose worker is lost runs again on another."""

    def __init__(self, inner: Executor, address: str) -> None:
        self.inner, self.address = inner, address

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Send a call to whichever worker is free first."""
        answer = Future[T]()
        self._send(partial(function, *args, **kwargs), answer)
        return answer

    def _send(self, call: Callable[[], T], answer: Future[T]) -> None:
        sent = self.inner.submit(call)
        sent.add_done_callback(lambda done: self._settle(call, done, answer))
        answer.add_done_callback(lambda done: done.cancelled() and sent.cancel())

    def _settle(self, call: Callable[[], T], done: Future[T], answer: Future[T]) -> None:
        if answer.cancelled():
            return
        try:
            answer.set_result(done.result())
        except KilledWorker:
            self._send(call, answer)
        except CancelledError:
            answer.set_exception(OptionError(f"scheduler: the connection to {self.address} broke"))
        except Exception as error:  # noqa: BLE001 - the caller's, who asks for the result
            answer.set_exception(error)
