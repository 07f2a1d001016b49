"""Every view of the page under axe, by keys, and beside its policy: `python -m lab.page_views [FOLDER]`.

Writes the file page of each command that has one, with hostile names where a problem has names, and opens it in
Debian's Chromium, light and dark, at 1,300 and at 390 pixels. Prints what axe finds (of any impact), errors of
scripts, breaks of the Content-Security-Policy, addresses of other hosts that were asked for, images and alerts that a
name has made, a page wider than its window, and controls that Tab does not reach. The pages are left in the folder.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from tests.support.browser import AXE, Tab, chromium, tab

EXAMPLES = Path(__file__).parents[1] / "examples"
HOSTILE = (
    *(
        "<img src=x onerror=alert(1)>",
        '"><script>alert(2)</script>',
        "javascript:alert(3)",
        "</script><b>",
        "\u202eabc",
    ),
    *("'; DROP TABLE buffers", "a" * 300, "${alert(4)}", "&lt;i&gt;"),
)
SCHEMES, WIDTHS = ("light", "dark"), (1300, 390)
_UNREACHED = """(seen) => [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
  .filter((each) => !each.disabled && each.offsetParent !== null && !each.closest("[inert], dialog:not([open])"))
  .filter((each) => !each.matches("[tabindex='-1']") && !window.reached.has(each))
  .map((each) => each.outerHTML.slice(0, 90))"""
_MOST_STOPS = 400


def main(folder: Path) -> int:
    """Look at all views; return how many things are wrong."""
    found = 0
    views = dict(pages(folder))
    with chromium() as browser, tab(browser) as shown:
        for (name, file), scheme, width in product(views.items(), SCHEMES, WIDTHS):
            for line in wrong(shown, file, scheme, width):
                found += 1
                print(f"{name}, {scheme}, {width} pixels: {line}", flush=True)
    print(f"{len(views)} views, {len(SCHEMES) * len(WIDTHS)} ways each: {found} things are wrong")
    return found


def pages(folder: Path) -> Iterator[tuple[str, Path]]:
    """Write the page of each command that has one; yield names of views, and their files."""
    rows: list[dict[str, Any]] = [
        {"id": name, "size": 64 * (k % 4 + 1), "start": k, "end": k + 3} for k, name in enumerate((*HOSTILE, "plain"))
    ]
    problem, larger, tight = (folder / f"{name}.json" for name in ("problem", "larger", "tight"))
    problem.write_text(json.dumps({"name": HOSTILE[0], "buffers": rows}))
    larger.write_text(json.dumps({"name": HOSTILE[1], "buffers": [row | {"size": 2 * row["size"]} for row in rows]}))
    tight.write_text(json.dumps({"buffers": rows, "pools": [{"name": HOSTILE[1], "size": 128}]}))
    for each in (problem, larger):
        _run("plan", each, "-o", folder / f"{each.stem}_plan.json")
    old, new = (folder / f"{each.stem}_plan.json" for each in (problem, larger))
    network, schedules = EXAMPLES / "networks" / "mobilenet_v1.json", EXAMPLES / "schedules"
    commands: dict[str, tuple[str | Path, ...]] = {
        "plan": ("plan", problem),
        "infeasible": ("plan", tight),
        "two memories": ("plan", EXAMPLES / "two_memories.json"),
        "models together": ("plan", EXAMPLES / "application.json"),
        "difference": ("check", larger, "--plan", new, "--baseline", old, "--baseline-problem", problem),
        "sweep": ("sweep", problem, "--size", "128:1KiB:128"),
        "order": ("order", EXAMPLES / "graphs" / "nets_yolo_pan@320.json"),
        "recompute": ("recompute", EXAMPLES / "graphs" / "torch_resnet18_b1_sgd.json", "--time-limit", "5"),
        "cascade": ("cascade", network, "--time-limit", "3"),
        "shapes": ("shapes", EXAMPLES / "symbolic" / "bert_4l.json"),
        "schedule": ("schedule", schedules / "attention.json"),
        "schedule of a network": ("schedule", network, "--target", schedules / "gap8_like.json"),
    }
    for name, command in commands.items():
        file = folder / f"{name.replace(' ', '_')}.html"
        _run(*command, "--page", file)
        yield name, file


def _run(*command: str | Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "memplan.api.cli.main", *command], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), (command, done.stderr)


def wrong(shown: Tab, file: Path, scheme: str, width: int) -> Iterator[str]:
    """Yield what is wrong with a page."""
    page = shown.page
    for log in (shown.errors, shown.requests):
        log.clear()
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(file.as_uri())
    page.locator("canvas, svg").first.wait_for()
    page.evaluate("window.reached = new Set(); window.alert = () => { window.alerted = true; }; null")
    for _ in range(_MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate("""() => { const at = document.activeElement, again = window.reached.has(at);
              window.reached.add(at); return again && at !== document.body; }"""):
            break
    page.evaluate(AXE.read_text(encoding="utf-8"))
    yield from (f"axe: {row['id']}: {row['help']}" for row in page.evaluate("axe.run()")["violations"])
    yield from (f"Tab does not reach {each}" for each in page.evaluate(_UNREACHED, None))
    yield from (f"error: {each}" for each in shown.errors)
    yield from (f"policy: {each}" for each in shown.policy_breaks)
    yield from (f"asked {url}" for url in shown.requests if not url.startswith(("file:", "data:", "blob:")))
    if page.locator("img").count() or page.evaluate("!!window.alerted"):
        yield "a name has made an element"
    if (wide := page.evaluate("document.documentElement.scrollWidth")) > width:
        yield f"the page is {wide} pixels wide"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(min(1, main(Path(sys.argv[1]))))
    with tempfile.TemporaryDirectory() as made:
        sys.exit(min(1, main(Path(made))))
