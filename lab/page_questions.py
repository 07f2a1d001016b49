"""Five questions to the page of a plan, by mouse and keys, with their answers: `python -m lab.page_questions FILE ...`.

Which buffers are the peak; why a buffer is not lower; what changed between two plans; would it fit; where a buffer
lies. For each problem the page is opened in Debian's Chromium, as a user has it; a click and a line that is typed are
an action each. Prints for each question the actions it took, and whether the answer is that of `verify`, of the
verifier itself (the ends of all buffers below tried), of `check`, of `explain`, and of the plan. Which buffers are
asked for is drawn.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lab.page_answers import fits, number
from lab.places import Offsets, moved, plan_of, roots
from memplan import Plan, Problem, read_problem, solve
from memplan.api.reports.page.comparison import PlanOf, comparison_page
from memplan.api.reports.page.file_page import plan_page
from memplan.capabilities.check.difference import difference_of
from memplan.capabilities.plan.baseline import Baseline
from memplan.capabilities.verify.verify import verdict_on
from memplan.planner.audit import verify
from tests.support.browser import Tab, chromium, tab

PEAK, WHERE, LOWER, FITS, CHANGED = QUESTIONS = (
    "which buffers are the peak",
    "where is a buffer",
    "why is it not lower",
    "would it fit",
    "what changed",
)
MOST_ACTIONS = 2
_ASKED = 5


def main(files: list[Path]) -> int:
    """Ask about each problem; return how many answers are wrong or take too many actions."""
    said: Counter[tuple[str, int, bool]] = Counter()
    with chromium() as browser, tab(browser) as shown:
        for file in files:
            problem = read_problem(file)
            for question, actions, is_right in answers(shown, problem, random.Random(file.name)):
                said[question, actions, is_right] += 1
                if not is_right or actions > MOST_ACTIONS:
                    print(f"{file.name}: {question}, {actions} actions, {'right' if is_right else 'WRONG'}", flush=True)
    for (question, actions, is_right), count in sorted(said.items()):
        print(f"{question}: {count} times with {actions} actions, {'right' if is_right else 'WRONG'}")
    return sum(count for (_, actions, is_right), count in said.items() if actions > MOST_ACTIONS or not is_right)


def answers(shown: Tab, problem: Problem, rng: random.Random) -> Iterator[tuple[str, int, bool]]:
    """Yield each question, the actions it took, and whether the answer is right."""
    plan, other = solve(problem, time_limit_s=2), solve(problem, solver="greedy", seed=1)
    page = shown.page
    _open(shown, plan_page(problem, plan))
    yield PEAK, 0, page.inner_text(".sentences") == verdict_on(problem, plan).pools[0].sentence
    rows = {row.id: (row.pool, row.offset) for row in plan.placements}
    drawn = roots(problem)
    for i in rng.sample(drawn, min(_ASKED, len(drawn))):
        page.keyboard.press("/")
        page.keyboard.type(f"/^{problem.buffers.ids[i]}$/")
        page.keyboard.press("Enter")
        offset = rows[problem.buffers.ids[i]][1]
        facts = page.inner_text("section[aria-label='selected buffer']")
        yield WHERE, 2, f"{offset:,}" in facts
        yield LOWER, 2, _is_lowest(problem, plan, i, page.inner_text(".why"))
        page.keyboard.press("Escape")
    peak = plan.peak or 1
    field = page.locator("input[aria-label^='size to ask']").first
    for size in (peak, peak - 1, verdict_on(problem, plan).pools[0].live - 1, peak // 2):
        field.click()
        field.fill(str(size))
        field.press("Enter")
        answer = page.locator(".answer p").first.inner_text()
        yield FITS, 2, fits(problem, plan_of(rows), 0, size, answer) is None
    found = difference_of(Baseline(other, problem), Baseline(plan, problem))
    _open(shown, comparison_page(PlanOf(problem, other, "before"), PlanOf(problem, plan, "after"), found))
    wanted = f"Moved: {len(found.moved):,}" if found.moved else "Nothing moved."
    yield CHANGED, 0, wanted in page.inner_text(".causes")


def _open(shown: Tab, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        path.write_bytes(data)
        shown.page.goto(path.as_uri())
        shown.page.locator(".picture canvas").first.wait_for()


def _is_lowest(problem: Problem, plan: Plan, i: int, said: str) -> bool:
    """Return whether what is said of how low a buffer could lie is so: it lies on nothing, or on the end of another."""
    rows: Offsets = {row.id: (row.pool, row.offset) for row in plan.placements}
    sizes = dict(zip(problem.buffers.ids, problem.buffers.size.tolist(), strict=True))
    own, step = rows[problem.buffers.ids[i]][1], int(problem.buffers.alignment[i])
    tops = {0, *(-(-(offset + sizes[name]) // step) * step for name, (_, offset) in rows.items())}
    tries = (low for low in sorted(tops) if low < own and not verify(problem, plan_of(moved(problem, rows, i, low))))
    least = next(tries, own)
    could = re.search(r"could move down to offset ([\d,]+):", said)
    return (number(could[1]) if could else own) == least


if __name__ == "__main__":
    sys.exit(min(1, main([Path(name) for name in sys.argv[1:]])))
