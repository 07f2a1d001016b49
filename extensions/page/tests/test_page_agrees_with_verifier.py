"""Tests that the page's statements about plans, in a real browser, agree with memplan's verifier."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memplan import Buffer, OffsetMod, Plan, Pool, Problem, Relative, solve
from memplan.extensions.page.file_page import plan_page
from memplan.extensions.page.tests.browser import DROP, Tab, show_page, wait_until
from memplan.planner.errors import InputError
from memplan.planner.formats import minimalloc_csv
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.instance.audit import verify
from memplan.planner.instance.canonical import problem_hash
from memplan.questions.verify.verify import verdict_on
from tests.support.values import buffer_rows

pytestmark = pytest.mark.slow
TIED = Problem(
    buffers=[
        Buffer(id="base", size=4, start=0, end=2),
        Buffer(id="lead", size=4, start=4, end=6),
        Buffer(id="tied", size=4, start=4, end=6, relative=Relative(to="lead", offset=8)),
        Buffer(id="odd", size=4, start=7, end=8, offset_mod=OffsetMod(modulus=8, remainder=4)),
        Buffer(id="page", size=6, start=9, end=10, no_cross=8),
        Buffer(id="steps", size=4, start=11, end=12, alignment=12),
        Buffer(id="root", size=8, start=14, end=15),
        Buffer(id="view", size=4, start=13, end=18, alias_of="root"),
        Buffer(id="late", size=4, start=16, end=18),
        Buffer(id="over", size=4, start=19, end=20),
        Buffer(id="pinned", size=4, start=21, end=22, offset=32),
        Buffer(id="in pinned", size=2, start=21, end=23, alias_of="pinned"),
    ],
    pools=[Pool(name="sram", size=4096, alignment=4, base_address=4, reserved=((8, 4), (100, 8)))],
)
LOOSE = {"base": 40, "lead": 40, "tied": 48, "odd": 36, "page": 20, "steps": 44, "root": 40, "view": 40, "late": 48}
LOOSE |= {"over": 200, "pinned": 32, "in pinned": 32}
LOW, HIGH, FULL = buffer_rows(low=(10, 0, 2), high=(10, 1, 3), full=(24, 4, 5))
FRAGMENTED = Problem(buffers=[LOW | {"offset": 0}, HIGH | {"offset": 15}, FULL], pools=[Pool(name="sram", size=100)])
LIVES = zip(buffer_rows(a=(8, 0, 2), b=(32, 5, 6), c=(4, 5, 6)), ("fast", "slow", "fast"), strict=True)
FAST_AND_SLOW = [Pool(name="fast", size=64), Pool(name="slow", size=64)]
TWO_POOLS = Problem(buffers=[row | {"pools": [pool]} for row, pool in LIVES], pools=FAST_AND_SLOW)
ROOT, VIEW, OTHER = buffer_rows(root=(100, 0, 1), view=(10, 0, 9), other=(100, 5, 9))
HOLDERS = [ROOT, VIEW | {"alias_of": "root"}, OTHER, {"id": "mute", "size": 10, "alias_of": "other"}]
HELD = Problem(buffers=HOLDERS, pools=[Pool(name="sram", size=1000, reserved=((0, 50),))])
FAR = Problem(buffers=buffer_rows(one=(2**60 + 1, -(2**62), 1), two=(2**60 + 1, 2**62, 2**62 + 1)))


def plan_at(problem: Problem, offsets: dict[str, int], **claims: Any) -> Plan:
    """Return a plan with the given offsets, in which each buffer is in its first allowed pool."""
    names = [problem.pools[problem.allowed_pools(i)[0]].name for i in range(len(problem.buffers))]
    rows = [{"id": name, "pool": pool, "offset": offsets[name]} for name, pool in zip(offsets, names, strict=True)]
    return Plan.model_validate({"status": "feasible", "placements": rows, **claims})


@pytest.fixture
def show(shared_tab: Tab, tmp_path: Path) -> Iterator[Any]:
    yield lambda problem, plan: show_page(shared_tab, tmp_path, plan_page(problem, plan))
    assert (shared_tab.errors, shared_tab.policy_breaks) == ([], [])


def reason_text(page: Any, problem: Problem, name: str) -> str:
    page.evaluate("(i) => memplan.view.select(i)", problem.buffers.ids.index(name))
    return page.inner_text(".why")


def badge_is(page: Any, text: str) -> None:
    page.wait_for_function("text => document.querySelector('.badge')?.textContent === text", arg=text)


def fits(page: Any, size: str) -> str:
    page.fill("section[aria-label='pools'] input", size)
    page.press("section[aria-label='pools'] input", "Enter")
    return page.inner_text(".answer >> nth=0")


def peak_names(page: Any) -> set[str]:
    return set(page.evaluate("memplan.view.picture.look.peak.map((i) => memplan.view.plan.ids[i])"))


def test_the_page_of_an_invalid_plan_names_the_overlaps_and_repeats_no_claim(show: Any) -> None:
    offsets = dict.fromkeys(("low", "high", "full"), 0) | {"high": 5}
    plan = plan_at(FRAGMENTED, offsets, peak=1_505_280, lower_bound=1_505_280)
    page = show(FRAGMENTED, plan)
    found = verify(FRAGMENTED, plan)
    assert page.inner_text(".badge") == f"not valid: {len(found)} violations"
    assert next(each.message for each in found if each.rule == "overlap") in page.inner_text(".sentences")
    assert page.evaluate("memplan.view.picture.look.wrong.length") == 2
    assert "1,505,280" not in page.inner_text(".bar.head + main .bar .facts")
    assert "Yes" not in fits(page, "2 MiB")
    assert "Not known" in reason_text(page, FRAGMENTED, "low")


def test_a_plan_dropped_on_a_page_is_marked_as_not_checked(show: Any, shared_tab: Tab) -> None:
    plan = solve(TWO_POOLS)
    page = show(TWO_POOLS, plan)
    assert page.inner_text(".badge") == "valid: checked"
    page.evaluate(DROP, ["plan.json", plan.model_dump_json(exclude_none=True)])
    wait_until(shared_tab, "document.querySelector('.badge').textContent === 'not checked'")
    page.evaluate(DROP, ["wrong.json", "{"])
    wait_until(shared_tab, "document.querySelectorAll('#page > .alarm').length === 1")
    page.evaluate(DROP, ["bad.json", json.dumps({"buffers": [{"id": "a", "size": -5, "start": 0, "end": 1}]})])
    wait_until(shared_tab, "document.querySelector('#page > .alarm').textContent.includes('size: must be an integer')")
    assert page.locator("#page > .alarm").count() == 1


def test_the_lowest_offset_shown_for_a_buffer_is_one_that_the_verifier_accepts(show: Any) -> None:
    plan = plan_at(TIED, LOOSE)
    assert verify(TIED, plan) == ()
    page = show(TIED, plan)
    aliases = {"root": ("view",), "pinned": ("in pinned",)}
    for name, own in LOOSE.items():
        if name in ("view", "in pinned"):
            continue
        moved = [plan_at(TIED, LOOSE | dict.fromkeys((name, *aliases.get(name, ())), low)) for low in range(own)]
        lowest = next((low for low in range(own) if not verify(TIED, moved[low])), own)
        text = reason_text(page, TIED, name)
        assert (f"could move down to offset {lowest}:" in text) == (lowest < own), (name, lowest, text)
        assert ("cannot move down" in text or "given by the problem" in text) == (lowest == own), (name, text)
    assert "stands on a reserved range, with 92 B idle" in reason_text(page, TIED, "over")
    assert "given by the problem" in reason_text(page, TIED, "in pinned")


def test_the_peak_is_the_highest_end_even_if_another_time_has_more_live_bytes(show: Any) -> None:
    page = show(FRAGMENTED, solve(FRAGMENTED))
    assert peak_names(page) == {"high"}
    text = page.inner_text(".sentences")
    assert text == verdict_on(FRAGMENTED, solve(FRAGMENTED)).pools[0].sentence
    assert text.startswith('25 B, proved to be the least: "high" ends highest, which is pinned at 15 B')
    assert fits(page, "24").startswith("No: no plan uses less than 25 B, which is proved")
    assert fits(page, "0.02 kB").startswith("No plan fits: 24 B are alive at time 4")


def test_the_page_shows_a_separate_peak_and_gap_for_each_pool(show: Any) -> None:
    page = show(TWO_POOLS, solve(TWO_POOLS))
    assert peak_names(page) == {"a", "b"}
    times = []
    for _ in range(3):
        times.append(page.evaluate("memplan.view.picture.look.time"))
        page.focus("canvas.over")
        page.keyboard.press("p")
    assert times == [0, 5, 0]
    assert page.locator(".buffers th button[data-by=pool]").count() == 1
    page.evaluate("memplan.view.lookAt(5)")
    text = page.inner_text("[aria-label='buffers alive at a time']")
    assert "fast: 1 buffer, 4 B, 50.0 % of the most" in text
    assert "slow: 1 buffer, 32 B (the most)" in text
    assert "gap" not in page.inner_text("main .bar")
    assert "gap" in page.inner_text("section[aria-label='pools']")


def test_sizes_typed_into_the_page_are_parsed_as_by_the_command(show: Any) -> None:
    problem = Problem(buffers=[Buffer(id="a", size=55_296, start=0, end=1)], pools=[Pool(size=2**20)])
    page = show(problem, solve(problem))
    assert fits(page, "55 kB").startswith("No plan fits: 55,296 B")
    assert fits(page, "54 KiB").startswith("Yes")
    assert fits(page, "54 kib").startswith("size: must be a size such as 4096, 64kB or 1MiB")
    for text in ("55,296 B", "0.0528 MiB"):  # The page itself shows sizes in these two formats.
        assert fits(page, text).startswith("Yes")


def test_advice_on_a_lower_peak_counts_aliases_and_reserved_bytes(show: Any) -> None:
    page = show(HELD, solve(HELD))
    page.click(".pool summary")
    page.wait_for_selector(".pool details ul", state="attached")
    text = page.inner_text(".pool details")
    assert "root 100 B (100 B less)" in text
    assert "This plan takes 50 B more, of which 50 B are reserved." in text
    assert "no times" not in page.inner_text("[aria-label='buffers alive at a time']")
    assert page.evaluate("memplan.view.plan.birth(3)") == 5


def test_the_page_shows_times_and_sizes_beyond_doubles_exactly(show: Any) -> None:
    page = show(FAR, solve(FAR))
    reason_text(page, FAR, "two")
    assert f"{2**62} to {2**62 + 1}" in page.inner_text("[aria-label='selected buffer']")
    assert f"{2**60 + 1:,} B" in page.inner_text("[aria-label='buffers alive at a time']")
    assert page.evaluate("memplan.view.plan.fullest(0).bytes") == pytest.approx(2**60)


def test_aliases_without_lifetimes_are_not_listed_as_timeless(show: Any) -> None:
    rows = [{"id": "x", "size": 8, "start": 0, "end": 2}, {"id": "view", "size": 4, "alias_of": "x"}]
    problem = Problem.model_validate({"buffers": rows})
    page = show(problem, solve(problem))
    assert page.evaluate("memplan.view.plan.timeless.size") == 0
    assert "no times" not in page.inner_text("aside")


EVERYTHING = Problem.model_validate(
    {
        "name": "=everything",
        "buffers": [
            {"id": 1, "size": 64, "lifetimes": [[-4, -2], [3, 5]], "alignment": 8, "traffic": 7, "pools": ["a", "b"]},
            {"id": 2, "size": 16, "start": 0, "end": 4, "alias_of": 1, "alias_offset": 8},
            {"id": "x,y", "size": 8, "start": 0, "end": 9, "forbid_pools": ["b"], "hint": 8},
            {"id": "=1+1", "size": 8, "start": 2, "end": 9, "no_cross": 64, "traffic": 1},
            {"id": "z", "size": 4, "alias_of": "x,y"},
            {"id": "empty", "size": 0, "start": 1, "end": 2},
            {"id": "timeless", "size": 4},
        ],
        "pools": [{"name": "a", "size": 512, "alignment": 16, "cost": 2}, {"name": "b", "reserved": [[0, 32]]}],
        "conflicts": [[1, "timeless"], ["=1+1", "timeless"]],
        "objective": "cost",
    }
)


@pytest.mark.parametrize("problem", [TIED, FRAGMENTED, TWO_POOLS, HELD, FAR, EVERYTHING])
def test_a_table_saved_by_the_page_is_read_as_the_same_problem_and_plan(show: Any, problem: Problem) -> None:
    plan = solve(problem, time_limit_s=2)
    page = show(problem, plan)
    for _ in ("a page", "files that were dropped"):
        with page.expect_download() as download:
            page.click("button:text-is('CSV')")
        table = Path(download.value.path()).read_bytes()
        assert problem_hash(minimalloc_csv.read_problem(table)) == problem_hash(problem), table.decode()
        places = {str(row.id): row for row in minimalloc_csv.read_plan(table, problem).placements}
        assert {name: (row.pool, row.offset) for name, row in places.items()} == {
            str(row.id): (row.pool, row.offset) for row in plan.placements
        }
        page.evaluate(
            DROP, ["all.json", f'{{"problem": {write_problem(problem).decode()}, "plan": {plan.model_dump_json()}}}']
        )
        badge_is(page, "not checked")


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ("a,0,9,4,2~4,,", "line 2, column 'gaps': must be time ranges such as 4-6 8-9, got \"2~4\""),
        ("a,0,x,4,,,", "buffers[0].lifetimes"),
        ("a,0,9,4,,b,", "buffers[0].alias_of"),
        ('a,0,9,4,,,"[1]"', "line 2, column 'rest': must be an object, got "),
        ('a,0,9,4,,,{"colour": 1}', "buffers[0].colour: is not a known field"),
    ],
)
def test_errors_in_a_table_saved_by_the_page_are_reported(cells: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        minimalloc_csv.read_problem(f"id,lower,upper,size,gaps,alias_of,rest\n{cells}\n".encode())
    assert str(caught.value).startswith(sentence)


def test_the_key_f_after_a_search_zooms_to_its_result(show: Any) -> None:
    page = show(TIED, plan_at(TIED, LOOSE))
    page.keyboard.press("/")
    page.keyboard.type("steps")
    page.keyboard.press("Enter")
    page.keyboard.press("f")
    assert page.input_value("input[type=search]") == "steps"
    frame = page.evaluate("({...memplan.view.picture.camera.frame})")
    assert frame["right"] - frame["left"] < 0.5
