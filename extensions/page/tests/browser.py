"""Run Debian's Chromium with Playwright for tests of pages: one browser, and tabs that record errors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parent / "data" / "axe" / "axe.min.js"
DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data }));
  }
}"""
"""The script that simulates dropping a file, given as [name, text], on a page."""
_BREAKS = """
window.policyBreaks = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.policyBreaks.push(`${event.violatedDirective}: ${event.blockedURI}`));
"""


@dataclass
class Tab:
    """A browser tab with its page, the errors of its scripts, and the addresses that it requested."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def policy_breaks(self) -> list[str]:
        """Return the violations of the page's Content-Security-Policy."""
        found: list[str] = self.page.evaluate("window.policyBreaks")
        return found

    def serious_violations(self) -> list[str]:
        """Return the serious accessibility violations that axe finds on the page."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        rows = self.page.evaluate("axe.run()")["violations"]
        return [f"{row['id']}: {row['help']}" for row in rows if row["impact"] in ("serious", "critical")]


@contextmanager
def chromium() -> Iterator[Any]:
    """Run the browser for the duration of the block; skip the test if the browser is not installed."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="pages are tested where Playwright is installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("pages are tested where Debian's chromium is installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def tab(browser: Any, width: int = 1300, height: int = 800, **options: Any) -> Iterator[Tab]:
    """Open a tab with separate storage for the duration of the block."""
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    context.set_default_timeout(20_000)
    context.add_init_script(_BREAKS)
    found = Tab(context.new_page())
    found.page.on("pageerror", lambda error: found.errors.append(str(error)))
    found.page.on("request", lambda request: found.requests.append(request.url))
    try:
        yield found
    finally:
        context.close()


def wait_until(found: Tab, condition: str) -> None:
    """Wait until a JavaScript condition is true; polled, as the page's policy blocks Playwright's own waiting."""
    for _ in range(600):
        if found.page.evaluate(condition):
            return
        found.page.wait_for_timeout(50)
    raise AssertionError(f"must come true: {condition}")


def show_page(found: Tab, folder: Path, page: bytes) -> Any:
    """Write a page into a folder, open it in a tab, and return it once its script is ready."""
    (folder / "page.html").write_bytes(page)
    found.page.goto("about:blank")
    found.page.goto((folder / "page.html").as_uri())
    wait_until(found, "!!(window.memplan && memplan.ready)")
    return found.page
