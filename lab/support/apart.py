"""Runs a function in a separate process, for workers of a cluster, which have threads and therefore must not fork."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import TypeVar

A = TypeVar("A")
T = TypeVar("T")


def run_in_process(work: Callable[[A], T], given: A) -> T:
    """Return work(given), computed in a new process. Raises CalledProcessError if the process fails."""
    task = pickle.dumps((work, given))
    run = subprocess.run([sys.executable, "-m", __name__], input=task, stdout=subprocess.PIPE, check=True)
    answer: T = pickle.loads(run.stdout)
    return answer


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Texts printed by `work` must not mix with the pickled result.
    with answers:
        task, value = pickle.load(sys.stdin.buffer)
        pickle.dump(task(value), answers)
