"""The service's page as people use it, in Debian's Chromium: `python -m lab.page_visits capabilities [MODEL]`.

`capabilities` starts servers with keys and without, drops a model, and runs each capability of the menu with the inputs
that are offered, and with what `ASKED` has where the page says that something is required: its answer, the same after
a reload, the end of another run after *Stop*, and the same answer after the server was stopped and started. Prints a
line for each; the last line counts what is wrong.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from memplan.capabilities import MODULES
from tests.support.browser import Tab, chromium, tab

MODEL = Path(__file__).parents[1] / "tests" / "models" / "view.tflite"
KEY = "a-key-of-an-operator-that-is-long-enough"
_TARGET = MODEL.parents[2] / "examples" / "schedules" / "gap8_like.json"
ASKED = {"heap_limit": "1MiB", "within": "1MiB", "target": str(_TARGET)}
"""What people give where a capability says that it is required."""
_ENDED = re.compile(r"succeeded|failed|cancelled")
_LONG_S = 60.0
OF_SYMBOLS = ("limits", "verify-shapes")
"""What has no answer about a model without symbols, and is run about its example."""


def main(what: str, *more: str) -> int:
    """Do what is asked; return the number of lines that are wrong."""
    rows = {"capabilities": capabilities}[what](*more)
    wrong = 0
    for line, is_right in rows:
        wrong += not is_right
        print(f"{'ok   ' if is_right else 'WRONG'} {line}", flush=True)
    print(f"{wrong} wrong")
    return wrong


@contextmanager
def server(folder: Path, port: int, key: str | None) -> Iterator[str]:
    """Run `memplan serve` with its data in a folder; yield the page's address."""
    keys = {"MEMPLAN_DATA_FOLDER": str(folder), "MEMPLAN_WORKERS": "1"}
    keys |= {} if key is None else {"MEMPLAN_ADMIN_KEY": key, "MEMPLAN_REQUIRE_KEYS": "true"}
    command = [sys.executable, "-m", "memplan.api.cli.main", "serve", "--port", str(port)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env={**os.environ, **keys}, stdout=quiet, stderr=quiet)
    at = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(200):
            try:
                httpx.get(at)
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        yield at
    finally:
        process.terminate()
        process.wait(30)


def capabilities(model: str = str(MODEL), *names: str) -> Iterator[tuple[str, bool]]:
    """Yield a line for each capability, with keys and without."""
    with chromium() as browser:
        for key in (None, KEY):
            with tempfile.TemporaryDirectory() as folder, tab(browser) as found:
                port = free_port()
                with server(Path(folder), port, key) as at:
                    opened(found, at, Path(model), key)
                    seen = {}
                    for name in names or MODULES:
                        said, seen[name] = visited(found, name)
                        yield f"{'key' if key else 'no key'} {name}: {said}", "WRONG" not in said
                with server(Path(folder), port, key):
                    for name, (url, lines) in seen.items():
                        if not lines:
                            continue
                        found.page.goto(url)
                        said = "as before" if lines == shown(found) else "WRONG, another answer"
                        yield f"{'key' if key else 'no key'} {name}, after the server came back: {said}", said[0] != "W"
                yield f"errors {found.errors}, policy {found.policy_breaks}", not found.errors + found.policy_breaks


def visited(found: Tab, name: str) -> tuple[str, tuple[str, str]]:
    """Run a capability, load the page again, and stop another run; return what was said, and where its answer is."""
    said = answered(found, name, ASKED)
    if not said.startswith("succeeded"):
        return f"WRONG {said}", (found.page.url, "")
    url, lines = found.page.url, shown(found)
    found.page.reload()
    again = "reloaded" if lines == shown(found) else "WRONG after a reload"
    asked(found, name)
    for option in found.page.locator("[data-option] input").all():
        given = ASKED.get(option.evaluate("(each) => each.closest('[data-option]').dataset.option") or "")
        if given is not None:
            option.fill(given)
    if found.page.locator("[data-input=target]").count():
        found.page.select_option("[data-input=target] select", label="a file…")
        found.page.set_input_files("[data-input=target] input[type=file]", ASKED["target"])
    found.page.click("dialog .primary")
    found.page.wait_for_selector("dialog", state="detached")
    for _ in range(100):
        if found.page.url != url:
            break
        found.page.wait_for_timeout(20)
    with suppress(PlaywrightTimeoutError):  # it ended first
        found.page.click("button:text-is('Stop')", timeout=500)
    stopped = ended(found, url)
    if found.page.locator("dialog.ask").count():
        found.page.click("dialog >> text=Close")
    return f"{said}; {again}; stopped: {stopped}", (url, lines)


def shown(found: Tab) -> str:
    """Return the lines of the answer on show, or the badge of a plan."""
    found.page.wait_for_selector("pre.lines, .badge:text-is('verified')")
    lines = found.page.locator("pre.lines").all_inner_texts()
    return lines[0] if lines else "verified"


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def opened(found: Tab, at: str, model: Path, key: str | None) -> None:
    """Open the page, and a model in it; give the key where it is wanted."""
    found.page.goto(at)
    found.page.set_input_files("input[type=file]", model)
    if key is not None:
        found.page.fill("#key", key)
        found.page.click("text=Use it")
    ended(found, at)


def asked(found: Tab, name: str) -> None:
    """Open the form of a capability."""
    found.page.click("text=More…")
    found.page.locator("dialog .menu button", has=found.page.locator(f"b:text-is('{name}')")).click()
    if name in OF_SYMBOLS:
        found.page.select_option("dialog .field select >> nth=0", label="an example, written here")


def answered(found: Tab, name: str, given: dict[str, str]) -> str:
    """Run a capability with what is offered, and what it asks for; return what the page says at its end."""
    asked(found, name)
    for k in range(3):
        before = found.page.url
        found.page.click("dialog .primary")
        found.page.wait_for_selector("dialog.ask .primary:disabled", state="detached")
        found.page.wait_for_timeout(200)
        said = ended(found, before)
        lacks = re.search(r"(\w+): is required", said)
        if lacks is None or k == 2:
            break
        found.page.wait_for_selector("dialog.ask .alarm")
        field = found.page.locator(":focus")
        if given.get(lacks[1]) is None or field.count() == 0:
            break
        if lacks[1] == "target":
            field.select_option(label="a file…")
            found.page.set_input_files("[data-input=target] input[type=file]", given["target"])
        else:
            field.fill(given[lacks[1]])
    if found.page.locator("dialog.ask").count():
        found.page.click("dialog >> text=Close")
    return said


def ended(found: Tab, before: str) -> str:
    """Wait until the page has an answer or a sentence about it; return what it says."""
    until = time.monotonic() + _LONG_S
    while time.monotonic() < until:
        wrong = found.page.locator("dialog.ask .alarm").all_inner_texts()
        alarm = found.page.inner_text("[role=alert] >> nth=0")
        said = found.page.inner_text(".said")
        if any(wrong) or alarm:
            found.page.wait_for_timeout(300)
            return " ".join(f"{alarm} {wrong} {said}".split())[:200]
        if found.page.url != before and _ENDED.match(said) and found.page.locator("dialog.ask").count() == 0:
            return str(said)
        found.page.wait_for_timeout(50)
    return "no end"


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]) > 0)
