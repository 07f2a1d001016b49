"""Answers of the page of a plan, beside the verifier, `verify` and `explain`: `python -m lab.page_answers 60 [SEED]`.

Draws problems with every constraint kind, and loose plans of them, as `lab.places` does, and opens their pages in
Debian's Chromium. Read from the page, as text: the badge, also of a plan that was spoiled; how low each buffer could
lie; the peak of each pool; would it fit, for sizes about the peak, the live bytes and the bound; the bytes alive
without a buffer. `extensions/page/tests/test_page_truth.py` goes through some of the cases.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from lab.places import Offsets, lives, loose, moved, plan_of, roots
from lab.support.cases import run_cases
from memplan import ExplainOptions, Plan, Problem, explain
from memplan.extensions.page.file_page import plan_page
from memplan.extensions.page.tests.browser import Tab, chromium, tab, wait_until
from memplan.planner.instance.audit import verify
from memplan.questions.verify.better import beside_best
from memplan.questions.verify.verify import verdict_on
from tests.support.families import families

_READ = """(sizes) => {
  const { view } = memplan;
  const text = (element) => element?.textContent ?? "";
  const why = view.plan.ids.map((_, i) => { view.select(i); return text(document.querySelector(".why")); });
  view.select(-1);
  const pools = [...document.querySelectorAll("section[aria-label=pools] .pool")].map((pool, q) => {
    const details = pool.querySelector("details");
    if (details) details.open = true, details.dispatchEvent(new Event("toggle"));
    const fits = sizes[q].map((size) => {
      pool.querySelector("input").value = String(size);
      pool.querySelector("form").requestSubmit();
      return text(pool.querySelector(".answer p"));
    });
    const rows = [...(details?.querySelectorAll("ul li") ?? [])];
    const without = rows.map((row) => [text(row.querySelector("button")), text(row)]);
    return { levels: text(pool.querySelector("dl")), fits, without };
  });
  return { badge: text(document.querySelector(".badge")), why, pools };
}"""
_LIMIT_S = 2.0


def faults(shown: Tab, seed: int, tally: Counter[str]) -> Iterator[str]:
    """Yield what the page of a drawn problem's loose plan says otherwise."""
    problem, plan = loose(seed)
    if plan is not None:
        for line in differences(shown, problem, plan, random.Random(seed + 1)):
            tally["answers"] += 1
            if line is not None:
                yield line


def differences(shown: Tab, problem: Problem, plan: Plan, rng: random.Random) -> Iterator[str | None]:
    """Yield for each answer of a valid plan's page, and for the badge of a spoiled one, what is wrong, or None."""
    said = verdict_on(problem, plan)
    sizes = [
        sorted({max(1, size + by) for size in (pool.used, pool.live, pool.lower_bound or 1) for by in (-1, 0)})
        for pool in said.pools
    ]
    read = _page(shown, problem, plan, sizes)
    yield None if read["badge"] == "valid: checked" else f"badge of a valid plan: {read['badge']}"
    rows: Offsets = {row.id: (row.pool, row.offset) for row in plan.placements}
    yield from _floors(problem, rows, read["why"])
    audited = {pool.name: pool for pool in beside_best(problem, plan, time_limit_s=_LIMIT_S).pools}
    for q, pool in enumerate(problem.pools):
        shows = read["pools"][q]
        used, best = audited[pool.name].used, audited[pool.name].best
        peak = re.match(r"peak([\d,]+) B", shows["levels"])
        yield None if peak and number(peak[1]) == used else f"{pool.name}: {used} are used, got {shows['levels']}"
        bound = re.search(r"lower bound([\d,]+) B", shows["levels"])
        if bound and len(problem.pools) == 1 and best is not None:
            yield None if number(bound[1]) <= best else f"{pool.name}: {best} are enough, got {shows['levels']}"
        yield from _without(problem, rows, pool.name, shows["without"])
        for size, answer in zip(sizes[q], shows["fits"], strict=True):
            yield fits(problem, plan, q, size, answer)
    spoiled = moved(problem, rows, rng.choice(roots(problem)), rng.randint(0, 3))
    broken = verify(problem, plan_of(spoiled))
    badge = _page(shown, problem, plan_of(spoiled), [[] for _ in problem.pools])["badge"]
    many = "violation" if len(broken) == 1 else "violations"
    truth = f"not valid: {len(broken)} {many}" if broken else "valid: checked"
    yield None if badge == truth else f"badge of a spoiled plan: {badge}, not {truth}"


def _page(shown: Tab, problem: Problem, plan: Plan, sizes: list[list[int]]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        path.write_bytes(plan_page(problem, plan))
        shown.page.goto(path.as_uri())
        wait_until(shown, "!!(window.memplan && memplan.ready)")
        return shown.page.evaluate(_READ, sizes)


def number(text: str) -> int:
    """Return a number that the page writes."""
    return int(text.replace(",", ""))


def _floors(problem: Problem, rows: Offsets, why: list[str]) -> Iterator[str | None]:
    """Compare how low each buffer could lie with the least offset that the verifier accepts."""
    ids = problem.buffers.ids
    for i in roots(problem):
        own = rows[ids[i]][1]
        least = next(low for low in range(own + 1) if not verify(problem, plan_of(moved(problem, rows, i, low))))
        could = re.search(r"could move down to offset ([\d,]+):", why[i])
        wrong = f"buffer {ids[i]} at {own} could lie at {least}, got {why[i]}"
        yield None if (number(could[1]) if could else own) == least else wrong


def _without(problem: Problem, rows: Offsets, pool: str, told: list[tuple[str, str]]) -> Iterator[str | None]:
    """Compare what would be alive without a buffer with a count of each time step."""
    here = {str(each.members[0][1].id): each for each in families(problem) if rows[each.members[0][1].id][0] == pool}
    times = {start for family in here.values() for start, _ in family.intervals}

    def most(gone: str | None) -> int:
        alive = (
            sum(family.size for name, family in here.items() if name != gone and lives(family.intervals, time))
            for time in times
        )
        return max(alive, default=0)

    for name, text in told:
        less = re.search(r"\(([\d,]+) B less\)", text)
        true = most(None) - most(name)
        yield None if less and number(less[1]) == true else f"{pool}: {true} less without {name}, got {text}"


def fits(problem: Problem, plan: Plan, q: int, size: int, answer: str) -> str | None:
    """Compare an answer about a size with the verifier and, where the page says that nothing fits, with `explain`."""
    pools = tuple(pool.model_copy(update={"size": size}) if k == q else pool for k, pool in enumerate(problem.pools))
    smaller = Problem.model_validate(problem.model_dump() | {"pools": [pool.model_dump() for pool in pools]})
    wrong = f"{problem.pools[q].name} of {size}: got {answer}"
    is_valid = not verify(smaller, plan)
    if answer.startswith(("Yes", "This plan does not")):
        return None if is_valid == answer.startswith("Yes") else wrong
    if not answer.startswith("No") or answer.startswith("Not known"):
        return wrong
    if len(problem.pools) > 1:
        here = {row.id: row.pool for row in plan.placements}
        rows = [row | {"pools": [here[row["id"]]]} for row in smaller.model_dump()["buffers"]]
        smaller = Problem.model_validate(smaller.model_dump() | {"buffers": rows})
    found = explain(smaller, options=ExplainOptions(time_limit_s=_LIMIT_S, explain_s=0.1)).status
    return None if found == "infeasible" and not is_valid else f"{wrong}; explain: {found}"


if __name__ == "__main__":
    with chromium() as browser, tab(browser) as page:
        sys.exit(run_cases("page_answers", partial(faults, page), count=60))
