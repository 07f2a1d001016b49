"""A child process for tests of `ChildProcess`; its task selects how it answers."""

import pickle
import time
from pathlib import Path

import numpy as np

from memplan.solvers.processes.parent import Parent

ARRAYS = {"one": np.arange(5), "two": np.eye(3, dtype=bool), "none": np.zeros((0, 2))}


class Harm:
    """An object whose pickle creates a file when it is loaded, as a harmful pickle could."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.path,)


def main() -> None:
    """Read a task, then answer with arrays, answer with a harmful pickle, or sleep."""
    parent = Parent()
    if parent.task == "arrays":
        parent.send([1, {"deep": [ARRAYS, [2**70, "x"]]}])
        parent.send(np.float64("inf"))
    elif isinstance(parent.task, Path):
        parent.answers.write(pickle.dumps(Harm(parent.task)) + b"\n")
        parent.answers.flush()
    else:
        time.sleep(600)


if __name__ == "__main__":
    main()
