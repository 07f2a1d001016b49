"""Six questions asked of the page over a service about three problems, each answered by at most two actions.

`python -m lab.page_questions`: what makes the peak, what halving a buffer and what an alignment are worth, why a buffer
is where it is, what changed, and what is proved, beside counts from the JSON of the problems and plans alone.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memplan import read_problem
from memplan.api.settings import Settings
from memplan.extensions.page.tests.browser import DROP, Tab, chromium, tab
from memplan.planner.formats.memplan_json import write_problem
from tests.support.server import Running, running

EXAMPLES = Path(__file__).parents[1] / "examples"
ASKED = {
    "MobileNetV2": EXAMPLES / "mobilenet_v2.csv",
    "two pools": EXAMPLES / "two_memories.json",
    "a training step": EXAMPLES / "problems" / "torch_train" / "resnet50_b8.csv",
}
_SETTLED = """() => document.querySelector(".badge")?.textContent === "valid: checked"
  && /planned in/.test(document.querySelector(".said").textContent)"""
_LEVERS = (
    "[...document.querySelectorAll('.levers tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"
)
_ANSWERED = "() => !/planning/.test(document.querySelector('.levers tbody')?.textContent ?? 'planning')"
_UNITS = {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}
_SHORT = 2e-3
"""The share that four digits of a size may be off."""
Row = dict[str, Any]


class Counted:
    """What follows from the rows of a problem and of its plan, counted again."""

    def __init__(self, problem: Row, plan: Row) -> None:
        self.rows = {row["id"]: row for row in problem["buffers"]}
        self.place = {row["id"]: (row["pool"], row["offset"]) for row in plan["placements"]}
        self.pools = {pool.get("name", "default"): pool for pool in problem.get("pools") or [{}]}
        self.closed = problem.get("interval") == "closed"
        self.taken: dict[Any, list[tuple[int, int]]] = {name: [] for name in self.rows if name == self.root(name)}
        for name, row in self.rows.items():
            spans = row.get("lifetimes") or ([] if row.get("start") is None else [[row["start"], row["end"]]])
            self.taken[self.root(name)] += [(start, end + self.closed) for start, end in spans]

    def root(self, name: Any) -> Any:
        """Return what a buffer lies in at last."""
        while self.rows[name].get("alias_of") is not None:
            name = self.rows[name]["alias_of"]
        return name

    def meet(self, a: Any, b: Any) -> bool:
        """Return True where bytes of both are taken at once."""
        return any(x[0] < y[1] and y[0] < x[1] for x in self.taken[a] for y in self.taken[b])

    def live(self, pool: str, **sizes: int) -> int:
        """Return the most bytes alive at once in a pool, with other sizes of some buffers."""
        here = [name for name in self.taken if self.place[name][0] == pool]
        size = {name: sizes.get(str(name), self.rows[name]["size"]) for name in here}
        times = {start for name in here for start, _ in self.taken[name]}
        alive = (sum(size[name] for name in here if any(s <= at < e for s, e in self.taken[name])) for at in times)
        return max(alive, default=0)

    def peak(self, pool: str) -> int:
        """Return the highest end in a pool."""
        ends: Iterator[int] = (
            self.place[name][1] + self.rows[name]["size"] for name in self.taken if self.place[name][0] == pool
        )
        return max(ends, default=0)

    def lowest(self, name: Any) -> int:
        """Return the lowest offset of a buffer with all others where they are, by alignments and reserved ranges."""
        pool, own = self.place[name]
        row, about = self.rows[name], self.pools[pool]
        step, base = max(row.get("alignment") or 1, about.get("alignment") or 1), about.get("base_address") or 0
        walls = [tuple(each) for each in about.get("reserved") or ()]
        walls += [
            (self.place[other][1], self.rows[other]["size"])
            for other in self.taken
            if other != name and self.place[other][0] == pool and self.meet(name, other)
        ]
        starts = sorted({0, *(low + size for low, size in walls)})
        aligned = (at + -(at + base) % step for at in starts)
        free: Iterator[int] = (
            at for at in aligned if all(at >= low + size or low >= at + row["size"] for low, size in walls if size)
        )
        return min((at for at in free if at <= own), default=own)


def bytes_of(text: str) -> float:
    """Return the bytes of a size as the page writes it."""
    number, unit = text.replace(",", "").split(" ")[:2]
    return float(number) * 2.0 ** _UNITS[unit]


def answers(shown: Tab, server: Running, name: str) -> Iterator[tuple[str, int, bool, str]]:
    """Yield for each question the actions, whether the answer is right, and the answer."""
    page, problem = shown.page, read_problem(ASKED[name])
    page.goto(f"http://127.0.0.1:{server.port}/")
    asked = json.loads(write_problem(problem))

    def planned(rows: Row) -> Counted:
        before = page.url
        page.evaluate(DROP, ["asked.json", json.dumps(rows)])
        page.wait_for_url(lambda url: url != before and "job=" in url, timeout=60_000)
        page.wait_for_function(_SETTLED, timeout=60_000)
        job = re.search(r"job=([0-9a-f-]+)", page.url)
        assert job is not None
        return Counted(rows, server.client.get(f"/v1/jobs/{job[1]}/plan").json())

    own = planned(asked)
    shows = page.evaluate("[...document.querySelectorAll('.pool dl')].map((list) => list.textContent)")
    sentence = page.inner_text(".sentences")
    peaks = [f"{own.peak(pool):,} B" in text for pool, text in zip(own.pools, shows, strict=True)]
    yield "what makes the peak?", 0, all(peaks), sentence
    is_least = all(own.peak(pool) == own.live(pool) for pool in own.pools)
    best = page.inner_text(".badge.best")
    yield "is it proved?", 0, ("checked by" in best) <= is_least, best

    def levers(button: str) -> list[list[str]]:
        page.click(f".levers button:has-text('{button}')")
        page.wait_for_function(_ANSWERED, timeout=120_000)
        rows: list[list[str]] = page.evaluate(_LEVERS)
        return rows

    def least(changed: str) -> int:
        # A row names a buffer without what all names begin with.
        name = min((str(key) for key in own.rows if str(key).endswith(changed)), key=len)
        half = {name: next(int(row["size"]) // 2 for key, row in own.rows.items() if str(key) == name)}
        return sum(own.live(pool, **half) for pool in own.pools)

    halved = levers("halve")
    now = sum(map(own.peak, own.pools)) * (1 + _SHORT)
    right = [
        now >= bytes_of(row[1]) >= least(row[0].removeprefix("halve ").rpartition("…")[2]) * (1 - _SHORT)
        for row in halved
    ]
    order = [bytes_of(row[1]) for row in halved]
    yield "which one, halved, lowers it most?", 1, bool(right) and all(right) and order == sorted(order), str(halved[0])
    sizes = [bytes_of(row[1]) for row in levers("alignment")]
    floor = sum(own.live(pool) for pool in own.pools) * (1 - _SHORT)
    yield "what does an alignment cost?", 1, sizes == sorted(sizes) and sizes[0] >= floor, str(sizes)
    buffer = max((each for each in own.taken if own.place[each][1] > 0), key=lambda each: own.rows[each]["size"])
    page.fill("input[type=search]", str(buffer))
    page.press("input[type=search]", "Enter")
    why = page.inner_text(".why")
    low, at = own.lowest(buffer), own.place[buffer][1]
    is_right = f"down to offset {low:,}:" in why if low < at else "cannot move" in why or "pinned" in why
    yield "why is this buffer here?", 2, is_right, why.splitlines()[1]
    grown = next(row for row in asked["buffers"] if row["id"] == buffer)
    grown["size"] = int(grown["size"] * 5 / 4) // 8 * 8
    new = planned(asked)
    page.click("text=Compare")
    page.wait_for_selector(".causes h2", timeout=120_000)
    told = page.inner_text("main .bar .facts >> nth=0")
    moved = sum(own.place[each] != new.place[each] for each in own.rows)
    before, after = (sum(each.peak(pool) for pool in each.pools) for each in (own, new))
    changed = all(f"{each:,} B" in told for each in (before, after)) and f"{moved:,} moved" in told.replace("\n", " ")
    yield "what changed?", 2, changed, told.replace("\n", " ")


def main() -> int:
    """Ask all, and print each answer; return the number of those that are wrong."""
    wrong = 0
    with chromium() as browser, running(Settings(max_jobs=500)) as server, tab(browser) as shown:
        for name in ASKED:
            for question, actions, is_right, text in answers(shown, server, name):
                wrong += not is_right
                print(
                    f"{'right' if is_right else 'WRONG'}  {name}: {question} ({actions} actions) {text[:160]}",
                    flush=True,
                )
        assert (shown.errors, shown.policy_breaks) == ([], [])
    return wrong


if __name__ == "__main__":
    sys.exit(main())
