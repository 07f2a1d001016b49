"""Count the functions that one quick `POST /v1/plan` enters: `python -m lab.count_calls [--list] [--buffers N]`.

The app runs in this process with a store of its own and no worker processes. One request comes to warm it up; then
several come, each of a problem that the server has not seen. Counted are the functions of memplan, with methods,
properties and nested functions, that any thread enters between the call of the ASGI app and its return, once each
however often they run; comprehensions, lambdas, class bodies and modules are not counted. The server's own loops may
come in between, so the request that enters the fewest functions counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import memplan
from memplan.api.http.app import create_app
from memplan.api.settings import Settings

_REQUESTS = 5
_ROOTS = tuple(
    str(Path(memplan.__file__).parents[1] / name)
    for name in ("memplan", "planner", "solvers", "systems", "capabilities", "api")
)

Function = tuple[str, str]
"""A file, from the top of the repository, and the qualified name of a function in it."""


class Recorder:
    """Collects the code that is entered while it is recording, in every thread that started after `install`."""

    def __init__(self) -> None:
        self.is_recording = False
        self.entered: set[CodeType] = set()

    def install(self) -> None:
        """Have the interpreter call the recorder for each call of a function."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if self.is_recording and event == "call":
            self.entered.add(frame.f_code)

    def functions(self) -> set[Function]:
        """Return the functions of memplan among what was entered, and begin anew."""
        entered, self.entered = self.entered, set()
        top = len(str(Path(memplan.__file__).parents[1])) + 1
        return {
            (code.co_filename[top:].removeprefix("memplan/"), code.co_qualname)
            for code in entered
            if code.co_filename.startswith(_ROOTS) and not code.co_name.startswith("<") and code.co_flags & 2
        }


async def post(app: Any, body: bytes) -> None:
    """Send one request to an ASGI app, as a server does; raises RuntimeError where the answer is no plan."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[dict[str, Any]] = []
    is_over = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if not messages:
            await is_over.wait()
            return {"type": "http.disconnect"}
        return messages.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = {"host": "127.0.0.1", "content-type": "application/json", "content-length": str(len(body))}
    await app(
        {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/v1/plan",
            "raw_path": b"/v1/plan",
            "query_string": b"",
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8000),
        },
        receive,
        send,
    )
    is_over.set()
    if sent[0]["status"] != 200:
        raise RuntimeError(f"the service answered {sent[0]['status']}: {sent[1]['body']!r}")


def problem(buffers: int, size: int) -> bytes:
    """Return a problem of some buffers that are alive at once, each larger than the one before."""
    rows = [{"id": i, "size": size + i, "start": 0, "end": 2} for i in range(buffers)]
    return json.dumps({"buffers": rows}).encode()


async def count(buffers: int) -> set[Function]:
    """Return the functions that one quick request enters."""
    recorder = Recorder()
    recorder.install()
    with TemporaryDirectory(prefix="memplan-") as folder:
        app = create_app(Settings(data_folder=Path(folder), workers=0))
        async with app.router.lifespan_context(app):
            await post(app, problem(buffers, 64))
            found = []
            for k in range(_REQUESTS):
                await asyncio.sleep(0.6)  # so that what the last one left to be written is written
                recorder.is_recording = True
                await post(app, problem(buffers, 101 + 10 * k))
                recorder.is_recording = False
                found.append(recorder.functions())
    return min(found, key=len)


def main() -> None:
    """Count, and print how many functions in how many files there are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the functions as well")
    parser.add_argument("--buffers", type=int, default=2, help="how many buffers the problem has")
    asked = parser.parse_args()
    found = asyncio.run(count(asked.buffers))
    if asked.list:
        for file, name in sorted(found):
            sys.stdout.write(f"{file}: {name}\n")
    sys.stdout.write(f"{len(found)} functions in {len({file for file, _ in found})} files\n")


if __name__ == "__main__":
    main()
