"""Count the functions that one call enters: `python -m lab.count_calls [--list] post | reordered | above | COMMAND`.

- `post` sends `POST /v1/plan` to the app in this process, with a separate store and no workers: one request as a
  warm-up, then five, each with a new problem. The least of the five counts is reported, because the server's loops may
  run at the same time.
- `reordered` sends each problem twice, with its rows reordered, and counts the second request.
- `above` sends problems with a buffer larger than its pool.
- COMMAND is a command line of memplan, such as `plan examples/mobilenet_v2.csv`, which runs in this process.

Each function, method, property and nested function in any thread counts once; comprehensions, lambdas, class bodies and
modules do not count.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType

from starlette.testclient import TestClient

import memplan
from memplan.api.cli.main import main as command
from memplan.api.http.app import create_app
from memplan.api.settings import Settings

_ROOT = Path(memplan.__file__).parents[1]
_NOT_OURS = (str(_ROOT / ".venv"), str(_ROOT / "lab"), str(_ROOT / "tests"))
Function = tuple[str, str]
"""(path of a file, relative to the repository; qualified name of a function in it)."""


class Recorder:
    """Records the functions that are entered, in this thread and in all threads that start later."""

    def __init__(self) -> None:
        """Start with no functions recorded. Record calls in this thread and in all threads that start later."""
        self._entered: set[CodeType] = set()
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        """Record the function of a frame; Python calls this method at each call of a function."""
        if event == "call":
            self._entered.add(frame.f_code)

    def functions(self) -> set[Function]:
        """Return memplan's functions that were entered since the last call of this method, and forget them."""
        entered, self._entered = self._entered, set()
        return {
            (code.co_filename.removeprefix(f"{_ROOT}/").removeprefix("memplan/"), code.co_qualname)
            for code in entered
            if code.co_filename.startswith(str(_ROOT)) and not code.co_filename.startswith(_NOT_OURS)
            if not code.co_name.startswith("<") and code.co_flags & 2  # Only functions have flag 2: skip class bodies.
        }


def functions_of_post(is_known: bool = False, query: str = "") -> set[Function]:
    """Return the functions that one `POST /v1/plan` enters.

    If `is_known`, the request repeats a problem with the rows in another order.
    """
    recorder, found = Recorder(), []
    with (
        TemporaryDirectory(prefix="memplan-") as folder,
        TestClient(create_app(Settings(data_folder=Path(folder), workers=0))) as client,
    ):
        for k in range(6):
            rows = [{"id": i, "size": 100 + 10 * k + i, "start": 0, "end": 2} for i in range(2)]
            if is_known:
                client.post("/v1/plan", json={"buffers": rows[::-1]}).raise_for_status()
            time.sleep(0.6)  # The store writes plans in the background, so wait for the write.
            recorder.functions()
            client.post(f"/v1/plan{query}", json={"buffers": rows}).raise_for_status()
            found.append(recorder.functions())
    return min(found[1:], key=len)


def functions_of_command(words: list[str]) -> set[Function]:
    recorder = Recorder()
    command(words)
    return recorder.functions()


def main() -> None:
    """Count the functions that a call enters, and print their number and the number of their files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the functions as well")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="post | reordered | above | COMMAND")
    given = parser.parse_args()
    of_words = {"post": functions_of_post, "reordered": lambda: functions_of_post(is_known=True)}
    of_words["above"] = lambda: functions_of_post(query="?capacity=64")
    found = of_words.get(" ".join(given.words), lambda: functions_of_command(given.words))()
    sys.setprofile(None)
    for file, name in sorted(found) if given.list else ():
        print(f"{file}: {name}")
    print(f"{len(found)} functions in {len({file for file, _ in found})} files")


if __name__ == "__main__":
    main()
