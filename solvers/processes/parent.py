"""The child's side of a child process: it reads tasks, sends messages, and ends when its parent ends."""

import os
import pickle
import signal
import sys
import threading
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from pydantic_core import to_json

from memplan.solvers.processes.harden import forbid_new_privileges


class Parent:
    """The connection of a child process to its parent. The process ends with its parent.

    `task` is the parent's first task, and `answers` the pipe to the parent; libraries print to stderr instead.
    `niceness` is added to the niceness of this process, which cannot gain privileges. A process that `is_kept` has no
    first task: it waits for each task by `next_task`, and ends after the last one.
    """

    def __init__(self, niceness: int = 0, *, is_kept: bool = False) -> None:
        """Give up the right to gain privileges, redirect stdout to stderr, and read the first task."""
        forbid_new_privileges()
        self.answers: IO[bytes] = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        if niceness:
            os.nice(niceness)
        self._is_started = threading.Event()
        if not is_kept:
            self.task: Any = self.next_task()
            threading.Thread(target=self._end_with_parent, daemon=True).start()

    def next_task(self) -> Any:
        """Wait for the next task from the parent and return it; raises EOFError if there are no more tasks."""
        return pickle.load(sys.stdin.buffer)

    def send(self, answer: object) -> None:
        """Send a message as a line of JSON, followed by the bytes of all its arrays."""
        arrays: list[npt.NDArray[Any]] = []

        def encode_value(value: Any) -> object:
            if isinstance(value, Mapping):
                return [*value.items()]
            arrays.append(np.asarray(value))
            return {"": [arrays[-1].dtype.str, arrays[-1].shape]}

        self.answers.write(to_json(answer, inf_nan_mode="constants", fallback=encode_value) + b"\n")
        for array in arrays:
            self.answers.write(array.tobytes())
        self.answers.flush()

    def wait_for_start(self) -> None:
        """Wait until the parent sends the signal to begin."""
        self._is_started.wait()

    def _end_with_parent(self) -> None:
        while os.read(0, 4096):
            self._is_started.set()
        if sys.platform == "win32":
            os._exit(1)
        os.killpg(0, signal.SIGKILL)
