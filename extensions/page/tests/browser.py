"""Runs Debian's Chromium with Playwright for tests of pages: one browser, whose tabs record all errors."""

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
"""The JavaScript function that simulates dropping a file on a page; its argument is [name, text]."""
_BREAKS = """
window.policyBreaks = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.policyBreaks.push(`${event.violatedDirective}: ${event.blockedURI}`));
"""


@dataclass
class Tab:
    """A browser tab: its page, the errors of the page's scripts, and the addresses that the page requested."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def policy_breaks(self) -> list[str]:
        """Return the errors that report violations of the page's Content-Security-Policy."""
        return self.page.evaluate("window.policyBreaks")

    def serious_violations(self) -> list[str]:
        if not AXE.exists():
            pytest.skip("axe-core, of the license MPL-2.0, is in the repository, and not in the source archive")
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        rows = self.page.evaluate("axe.run()")["violations"]
        return [f"{row['id']}: {row['help']}" for row in rows if row["impact"] in ("serious", "critical")]


@contextmanager
def chromium() -> Iterator[Any]:
    """Start the browser, yield it, and stop it after the block. Skip the test if no browser is installed."""
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
    """Open a tab with its own storage, yield it, and close it after the block."""
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
    """Poll until a JavaScript condition is true, because the page's policy blocks Playwright's own way of waiting."""
    for _ in range(600):
        if found.page.evaluate(condition):
            return
        found.page.wait_for_timeout(50)
    raise AssertionError(f"must come true: {condition}")


def show_page(found: Tab, folder: Path, page: bytes) -> Any:
    """Write a page into a folder, open it in a tab, and return Playwright's page once the page's script is ready."""
    (folder / "page.html").write_bytes(page)
    found.page.goto("about:blank")
    found.page.goto((folder / "page.html").as_uri())
    wait_until(found, "!!(window.memplan && memplan.ready)")
    return found.page
