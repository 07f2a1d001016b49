"""Tests of the file page in a real browser: zooming and panning, queries, and exports."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from memplan import Buffer, Plan, Pool, Problem, solve
from memplan.extensions.page.file_page import plan_page
from memplan.extensions.page.tests.browser import Tab, tab
from memplan.planner.foreign.program_names import NamedTime, ProgramNames, Span
from memplan.planner.formats import minimalloc_csv
from memplan.planner.instance.canonical import problem_hash

pytestmark = pytest.mark.slow
LONG = "x" * 10_000
MARKUP = "<img src=x onerror=alert(1)>"
TURNED = "\u202eevil\u2066"
PROBLEM = Problem(
    buffers=[
        Buffer(id="input", size=4096, start=0, end=4, alignment=64),
        Buffer(id="conv1", size=8010, start=1, end=5, alignment=64),
        Buffer(id="view", size=512, start=2, end=4, alias_of="conv1", alias_offset=128),
        Buffer(id="conv2", size=6144, start=4, end=8, alignment=64),
        Buffer(id="state", size=1024, lifetimes=((0, 2), (6, 10)), alignment=64),
        Buffer(id="pinned", size=1024, start=8, end=12, pools=("sram",), offset=2048),
        Buffer(id=MARKUP, size=2048, start=9, end=14),
        Buffer(id=LONG, size=2048, start=10, end=15),
        Buffer(id=TURNED, size=2048, start=11, end=16),
        Buffer(id="weights", size=3000, start=0, end=16, pools=("dtcm",)),
    ],
    pools=[
        Pool(name="sram", size=24576, reserved=((0, 1024),), bank_size=4096),
        Pool(name="dtcm", size=4096, base_address=0x20000000),
    ],
    name="a small program",
)
NAMES = ProgramNames(
    steps=tuple(NamedTime(t, f"operation {t}") for t in range(16)),
    spans=(Span("loop", "the loop", 4, 8),),
    operations=tuple(f"op{i % 3}" for i in range(10)),
    types=tuple(("int8 4x4", "float32 4", "int8 2")[i % 3] for i in range(10)),
)
SEEN = "() => ({...memplan.view.picture.camera.frame})"
FIND = "(name) => memplan.view.plan.ids.findIndex(id => String(id).startsWith(name))"
LOOK = "() => ({...memplan.view.picture.look})"


@pytest.fixture(scope="module")
def plan() -> Plan:
    return solve(PROBLEM, time_limit_s=5)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, plan: Plan) -> Path:
    path = tmp_path_factory.mktemp("page") / "plan.html"
    path.write_bytes(plan_page(PROBLEM, plan, names=NAMES))
    return path


@pytest.fixture
def opened_tab(shared_tab: Tab, file: Path) -> Iterator[Tab]:
    shared_tab.errors.clear()
    shared_tab.requests.clear()
    shared_tab.page.emulate_media(color_scheme="light")
    shared_tab.page.goto("about:blank")
    shared_tab.page.goto(file.as_uri())
    wait_for_picture(shared_tab)
    yield shared_tab
    assert (shared_tab.errors, shared_tab.policy_breaks) == ([], [])
    assert {url.split(":")[0] for url in shared_tab.requests} <= {"file", "blob", "data", "about"}


def wait_for_picture(found: Tab) -> None:
    found.page.wait_for_selector(".picture canvas.over")
    found.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def select_buffer(found: Tab, name: str) -> int:
    found.page.fill("input[type=search]", name)
    found.page.press("input[type=search]", "Enter")
    return int(found.page.evaluate(LOOK)["selected"])


def centre(found: Tab, buffer: int) -> tuple[float, float]:
    """Return the pixel (x, y) at the centre of a buffer's first lifetime, in page coordinates."""
    script = """(i) => { const v = memplan.view, p = v.picture, f = p.camera.frame, l = p.lanes, m = v.plan;
      const row = m.taken.head[i], x = (l.x(m.taken.start[row]) + l.x(m.taken.end[row])) / 2;
      const lane = l.all[m.pool[i]], h = p.camera.heights[m.pool[i]];
      const y = (l.y(m.pool[i], m.offset[i] + m.size[i] / 2) - h.top) / (h.bottom - h.top);
      const box = p.over.getBoundingClientRect();
      return [box.left + 92 + (x - f.left) / (f.right - f.left) * p.width,
        box.top + (lane.top + y * (lane.bottom - lane.top)) * p.height]; }"""
    x, y = found.page.evaluate(script, buffer)
    return x, y


def save_bytes(found: Tab, button: str) -> bytes:
    with found.page.expect_download() as download:
        found.page.click(f"button:text-is('{button}')")
    return Path(download.value.path()).read_bytes()


def test_copies_of_buffers_that_move_are_listed_with_their_times(shared_tab: Tab, tmp_path: Path) -> None:
    pools = [{"name": "sram", "size": 64}, {"name": "psram", "cost": 4, "direct": False}]
    skip = {"id": "skip", "size": 64, "start": 0, "end": 5, "accesses": [0, 4]}
    big = {"id": "big", "size": 64, "start": 1, "end": 4, "accesses": [1, 2, 3]}
    problem = Problem.model_validate({"moves": True, "pools": pools, "buffers": [skip, big]})
    (tmp_path / "moves.html").write_bytes(plan_page(problem, solve(problem)))
    shared_tab.page.goto((tmp_path / "moves.html").as_uri())
    wait_for_picture(shared_tab)
    assert shared_tab.page.locator(".copies tbody tr").all_inner_texts() == [
        "0\tskip#1\tsram\tpsram\t64 B",
        "4\tskip#2\tpsram\tsram\t64 B",
    ]
    shared_tab.page.click(".copies tbody button:text-is('4')")
    assert (shared_tab.page.evaluate(LOOK)["time"], shared_tab.errors) == (4, [])


def test_the_mouse_wheel_zooms_at_the_pointer(opened_tab: Tab) -> None:
    x, y = centre(opened_tab, 1)
    opened_tab.page.mouse.move(x, y)
    place = """([x, y]) => { const p = memplan.view.picture, b = p.over.getBoundingClientRect();
      return p.place(x - b.left, y - b.top); }"""
    before = opened_tab.page.evaluate(place, [x, y])
    opened_tab.page.mouse.wheel(0, -300)
    after, frame = opened_tab.page.evaluate(place, [x, y]), opened_tab.page.evaluate(SEEN)
    assert frame["right"] - frame["left"] < 0.8
    assert abs(before["x"] - after["x"]) + abs(before["y"] - after["y"]) < 0.01


def test_the_mouse_wheel_with_shift_zooms_only_the_time_axis(opened_tab: Tab) -> None:
    opened_tab.page.mouse.move(*centre(opened_tab, 1))
    opened_tab.page.keyboard.down("Shift")
    opened_tab.page.mouse.wheel(0, -300)
    opened_tab.page.keyboard.up("Shift")
    frame = opened_tab.page.evaluate(SEEN)
    assert frame["right"] - frame["left"] < 0.8
    assert frame["bottom"] - frame["top"] == pytest.approx(1)


def test_dragging_moves_the_picture_without_selecting_a_buffer(opened_tab: Tab) -> None:
    opened_tab.page.keyboard.press("+")
    before = opened_tab.page.evaluate(SEEN)
    opened_tab.page.mouse.move(500, 300)
    opened_tab.page.mouse.down()
    opened_tab.page.mouse.move(600, 340, steps=4)
    opened_tab.page.mouse.up()
    after = opened_tab.page.evaluate(SEEN)
    assert after["left"] < before["left"]
    assert after["top"] < before["top"]
    assert opened_tab.page.evaluate(LOOK)["selected"] == -1


def test_keys_pan_and_zoom_the_picture(opened_tab: Tab) -> None:
    for key, moved in {"w": "closer", "+": "closer", "s": "farther", "-": "farther", "a": "back", "d": "on"}.items():
        opened_tab.page.evaluate("memplan.view.picture.camera.show({left: 0.4, right: 0.6, top: 0.2, bottom: 0.6})")
        opened_tab.page.keyboard.press(key)
        frame = opened_tab.page.evaluate(SEEN)
        width = frame["right"] - frame["left"]
        found = "closer" if width < 0.19 else "farther" if width > 0.21 else "back" if frame["left"] < 0.4 else "on"
        assert (key, found) == (key, moved)
    opened_tab.page.keyboard.press("0")
    assert opened_tab.page.evaluate(SEEN) == {"left": 0, "right": 1, "top": 0, "bottom": 1}


def test_a_click_selects_a_buffer_and_explains_its_offset(opened_tab: Tab) -> None:
    opened_tab.page.mouse.click(*centre(opened_tab, 3))
    assert opened_tab.page.evaluate(LOOK)["selected"] == 3
    text = opened_tab.page.inner_text("[aria-label='selected buffer']")
    assert "Buffer conv2" in text
    assert "Why is it here?" in text
    assert "6,144 B" in text
    opened_tab.page.keyboard.press("Escape")
    assert opened_tab.page.evaluate(LOOK)["selected"] == -1


def test_the_key_f_zooms_to_the_selected_buffer_and_then_to_its_supporting_buffers(opened_tab: Tab) -> None:
    select_buffer(opened_tab, "conv2")
    opened_tab.page.keyboard.press("Tab")
    opened_tab.page.focus("canvas.over")
    opened_tab.page.keyboard.press("f")
    frame = opened_tab.page.evaluate(SEEN)
    assert 0.2 < frame["right"] - frame["left"] < 0.7
    opened_tab.page.keyboard.press("f")
    assert opened_tab.page.evaluate(SEEN)["bottom"] >= frame["bottom"]


def test_the_keys_comma_and_full_stop_select_the_neighbours_in_time(opened_tab: Tab) -> None:
    select_buffer(opened_tab, "conv2")
    opened_tab.page.focus("canvas.over")
    names = []
    for key in (".", ".", ",", ",", ","):
        opened_tab.page.keyboard.press(key)
        names.append(PROBLEM.buffers.ids[opened_tab.page.evaluate(LOOK)["selected"]])
    assert names == ["state", "pinned", "state", "conv2", "conv1"]


def test_the_key_slash_searches_by_name_and_enter_cycles_through_the_hits(opened_tab: Tab) -> None:
    opened_tab.page.keyboard.press("/")
    opened_tab.page.keyboard.type("CONV")
    assert opened_tab.page.inner_text("[role=status]") == "2 found"
    hits = []
    for key in ("Enter", "Enter", "Enter", "Shift+Enter"):
        opened_tab.page.keyboard.press(key)
        hits.append(opened_tab.page.evaluate(LOOK)["selected"])
    assert hits == [1, 3, 1, 3]
    opened_tab.page.keyboard.press("Escape")
    assert opened_tab.page.evaluate(LOOK)["found"] is None


def test_the_search_accepts_a_pattern_in_slashes_and_reports_a_wrong_one(opened_tab: Tab) -> None:
    assert select_buffer(opened_tab, "/^conv[12]$/") == 1
    opened_tab.page.fill("input[type=search]", "/(/")
    assert "pattern:" in opened_tab.page.inner_text("[role=status]")


def test_the_key_question_mark_opens_the_list_of_keys(opened_tab: Tab) -> None:
    opened_tab.page.keyboard.press("?")
    assert "fit the selected buffer" in opened_tab.page.inner_text("dialog")
    opened_tab.page.keyboard.press("Escape")
    opened_tab.page.wait_for_selector("dialog", state="detached")


def test_a_card_at_the_pointer_shows_the_facts_of_a_buffer(opened_tab: Tab) -> None:
    opened_tab.page.mouse.move(*centre(opened_tab, 1))
    text = opened_tab.page.inner_text(".card")
    for part in ("conv1", "8,010 B", "with padding", "8,064 B", "operation 1", "op1", "sram", "above it", "below it"):
        assert part in text


def test_a_click_on_the_time_axis_lists_the_buffers_alive_then(opened_tab: Tab) -> None:
    x, _ = centre(opened_tab, 9)
    box = opened_tab.page.locator("canvas.over").bounding_box()
    opened_tab.page.mouse.click(x, box["y"] + box["height"] - 20)
    assert "Alive at time 8, operation 8" in opened_tab.page.inner_text("[aria-label='buffers alive at a time']")
    names = opened_tab.page.locator(".buffers tbody td:first-child").all_inner_texts()
    assert sorted(names) == ["pinned", "state", "weights"]


def test_a_click_on_a_heading_sorts_the_table_of_live_buffers(opened_tab: Tab) -> None:
    opened_tab.page.evaluate("memplan.view.lookAt(3)")
    for column, first in (("age", "input"), ("size", "conv1"), ("padding", "conv1")):
        opened_tab.page.click(f".buffers th button[data-by={column}]")
        assert opened_tab.page.locator(".buffers tbody td:first-child").first.inner_text() == first
        assert opened_tab.page.locator(f".buffers th[aria-sort] button[data-by={column}]").count() == 1


def test_a_permalink_restores_the_view_and_contains_no_data_of_the_plan(browser: Any, opened_tab: Tab) -> None:
    select_buffer(opened_tab, "conv2")
    opened_tab.page.select_option("select", "role")
    opened_tab.page.evaluate("memplan.view.picture.camera.show({left: 0.25, right: 0.5, top: 0, bottom: 0.5})")
    opened_tab.page.wait_for_url("**vis=0.25*")
    address = opened_tab.page.url
    assert "conv2" not in address
    with tab(browser) as again:
        again.page.goto(address)
        wait_for_picture(again)
        look = again.page.evaluate(LOOK)
        assert (look["selected"], look["by"], look["time"]) == (3, "role", opened_tab.page.evaluate(LOOK)["time"])
        assert again.page.evaluate(SEEN) == {"left": 0.25, "right": 0.5, "top": 0, "bottom": 0.5}


def test_exported_png_svg_and_csv_show_the_visible_part(opened_tab: Tab, plan: Plan) -> None:
    assert save_bytes(opened_tab, "PNG").startswith(b"\x89PNG")
    drawing = ElementTree.fromstring(save_bytes(opened_tab, "SVG"))
    titles = [title.text for title in drawing.iter("{http://www.w3.org/2000/svg}title")]
    texts = [text.text or "" for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
    for said in ("capacity ", "bound ", "valid: checked", "decides the peak", "0"):  # texts drawn in the picture
        assert any(said in text for text in texts), texts
    assert "conv1" in titles
    table = save_bytes(opened_tab, "CSV")
    assert problem_hash(minimalloc_csv.read_problem(table)) == problem_hash(PROBLEM)
    assert {row.id: row for row in minimalloc_csv.read_plan(table, PROBLEM).placements} == {
        row.id: row for row in plan.placements
    }


def test_a_query_for_a_size_reports_the_buffers_in_the_way(opened_tab: Tab) -> None:
    field = opened_tab.page.locator("input[aria-label='size to ask of pool sram']")
    field.fill("8 KiB")
    field.press("Enter")
    answer = opened_tab.page.locator(".answer").first.inner_text()
    assert "No plan with these buffers here fits" in answer
    assert "More bytes are alive in" in answer
    field.fill("24K")
    field.press("Enter")
    assert opened_tab.page.locator(".answer").first.inner_text().startswith("Yes")


def test_changes_that_would_lower_the_peak_are_listed(opened_tab: Tab) -> None:
    opened_tab.page.click(".pool summary >> nth=0")
    opened_tab.page.wait_for_selector(".pool details ul")
    text = opened_tab.page.inner_text(".pool details >> nth=0")
    assert "are alive together" in text
    assert "less)" in text


def test_long_names_and_names_with_markup_are_shown_as_text(opened_tab: Tab) -> None:
    for name in (MARKUP, LONG[:40], TURNED):
        opened_tab.page.evaluate("i => memplan.view.select(i)", opened_tab.page.evaluate(FIND, name))
        head = opened_tab.page.inner_text("[aria-label='selected buffer'] .name")
        assert len(head) <= 201
        assert "\u202e" not in head
    assert opened_tab.page.locator("img").count() == 0


def test_arrow_keys_select_one_buffer_after_another(opened_tab: Tab) -> None:
    opened_tab.page.focus("canvas.over")
    found = set()
    for key in ("ArrowRight", "ArrowUp", "ArrowDown", "ArrowDown"):
        opened_tab.page.keyboard.press(key)
        found.add(opened_tab.page.evaluate(LOOK)["selected"])
    assert len(found - {-1}) > 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_violation(browser: Any, file: Path, scheme: str) -> None:
    with tab(browser) as found:
        found.page.emulate_media(color_scheme=scheme)
        found.page.goto(file.as_uri())
        wait_for_picture(found)
        select_buffer(found, "conv2")
        found.page.click("summary >> nth=0")
        assert found.serious_violations() == []


def test_the_dark_scheme_also_applies_to_the_picture(opened_tab: Tab) -> None:
    corner = """() => { const c = memplan.view.picture.base;
      return [...c.getContext("2d").getImageData(c.width - 2, 1, 1, 1).data]; }"""
    opened_tab.page.emulate_media(color_scheme="dark")
    opened_tab.page.wait_for_timeout(150)
    assert max(opened_tab.page.evaluate(corner)[:3]) < 64
    opened_tab.page.click("button:text-is('theme')")
    opened_tab.page.wait_for_timeout(150)
    assert min(opened_tab.page.evaluate(corner)[:3]) > 200


def test_the_picture_can_be_coloured_by_each_property(opened_tab: Tab) -> None:
    pictures = []
    for by in ("buffer", "size", "role", "operation", "type", "pool"):
        opened_tab.page.select_option("select", by)
        opened_tab.page.wait_for_timeout(60)
        pictures.append(opened_tab.page.evaluate("memplan.view.picture.base.toDataURL()"))
    assert len(set(pictures)) == 6
    assert opened_tab.page.locator("option[value=moved]").is_disabled()


def test_each_pool_can_be_zoomed_alone_and_the_address_stores_the_zooms(opened_tab: Tab) -> None:
    weights = opened_tab.page.evaluate(FIND, "weights")
    opened_tab.page.mouse.move(*centre(opened_tab, weights))
    opened_tab.page.keyboard.down("Alt")
    opened_tab.page.mouse.wheel(0, -300)
    opened_tab.page.keyboard.up("Alt")
    heights = opened_tab.page.evaluate("memplan.view.picture.camera.heights.map(({top, bottom}) => bottom - top)")
    assert heights[0] == pytest.approx(1)
    assert heights[1] < 0.8
    x, y = centre(opened_tab, weights)
    opened_tab.page.mouse.click(x, y)
    assert opened_tab.page.evaluate(LOOK)["selected"] == weights
    opened_tab.page.wait_for_timeout(400)
    seen = opened_tab.page.evaluate("memplan.view.picture.camera.seen")
    opened_tab.page.reload()
    wait_for_picture(opened_tab)
    assert opened_tab.page.evaluate("memplan.view.picture.camera.seen") == pytest.approx(seen)
    opened_tab.page.keyboard.press("0")
    assert opened_tab.page.evaluate("memplan.view.picture.camera.isWhole")


def test_the_strip_shows_addresses_at_a_time_and_the_panel_shows_idle_bytes(opened_tab: Tab, plan: Plan) -> None:
    offsets = {row.id: row.offset for row in plan.placements}
    time, sizes = 14, {row.id: row.size for row in PROBLEM.buffers}
    lasting = (row for row in PROBLEM.buffers if row.pools != ("dtcm",))
    alive = [str(row.id) for row in lasting if any(start <= time < end for start, end in row.intervals)]
    idle = max(offsets[i] + sizes[i] for i in alive) - sum(sizes[i] for i in alive)
    opened_tab.page.evaluate("(time) => memplan.view.lookAt(time)", time)
    text = opened_tab.page.inner_text("[aria-label='buffers alive at a time']")
    assert (f"{idle / 1024:g} KiB below the highest end are unused" in text) == (idle > 0), (idle, text)
    script = """([pool, offset]) => { const p = memplan.view.picture; const lane = p.lanes.all[pool];
      const y = (lane.top + p.lanes.y(pool, offset) * (lane.bottom - lane.top)) * p.height;
      return [...p.over.getContext("2d").getImageData(82, Math.round(y), 1, 1).data].slice(0, 3); }"""
    inks = "(i) => [...memplan.view.picture.ink(i)]"
    wait_for_picture(opened_tab)
    for name in alive:
        assert opened_tab.page.evaluate(script, [0, offsets[name] + sizes[name] / 2]) == opened_tab.page.evaluate(
            inks, opened_tab.page.evaluate(FIND, name[:20])
        )


@pytest.fixture
def open_plan_page(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Tab]]:
    """A function that opens the page of a problem and its plan in a new tab."""
    with ExitStack() as tabs:

        def open_page(problem: Problem, plan: Plan | None = None, width: int = 1300, **options: Any) -> Tab:
            found = tabs.enter_context(tab(browser, width, **options))
            (tmp_path / "own.html").write_bytes(plan_page(problem, plan or solve(problem)))
            found.page.goto((tmp_path / "own.html").as_uri())
            wait_for_picture(found)
            return found

        yield open_page


LABELS = "memplan.view.plan.ids.map((_, i) => memplan.view.plan.label(i))"


def test_labels_omit_the_common_end_of_names(open_plan_page: Callable[..., Tab]) -> None:
    rows = [Buffer(id=f"layer{k}.conv{k}.output", size=1024, start=k, end=k + 2) for k in range(6)]
    found = open_plan_page(Problem(buffers=rows))
    assert found.page.evaluate(LABELS) == [f"layer{k}.conv{k}" for k in range(6)]
    assert "names end with .output" in found.page.inner_text(".legend")


def test_labels_omit_the_common_prefix_of_names_and_groups_use_the_next(open_plan_page: Callable[..., Tab]) -> None:
    names = [f"main/block{k // 2}/conv{k}" for k in range(6)]
    rows = [Buffer(id=name, size=1024, start=k, end=k + 2) for k, name in enumerate(names)]
    found = open_plan_page(Problem(buffers=rows))
    assert found.page.evaluate(LABELS) == [name.removeprefix("main/") for name in names]
    found.page.select_option("select", "group")
    legend = found.page.inner_text(".legend")
    assert all(name in legend for name in ("block0", "block1", "block2"))
    found.page.evaluate("memplan.view.lookAt(1)")
    assert "By layer" not in found.page.inner_text("[aria-label='buffers alive at a time']")
    svg = save_bytes(found, "SVG").decode()
    assert ">block1/conv2<" in svg
    assert "names begin with main/" in svg
    assert found.errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_does_not_fit_is_drawn_with_its_core_and_excess(open_plan_page: Callable[..., Tab], scheme: str) -> None:
    rows = [Buffer(id=f"b{k}", size=1000 + k, start=k, end=k + 3) for k in range(6)]
    problem = Problem(buffers=rows, pools=[Pool(size=2500)])
    plan = solve(problem)
    assert plan.explanation is not None
    found = open_plan_page(problem, plan, 390 if scheme == "dark" else 1300, color_scheme=scheme)
    core = found.page.evaluate("memplan.view.picture.demand.core.map(({i}) => memplan.view.plan.ids[i])")
    assert set(core) == set(plan.explanation.buffers)
    svg = save_bytes(found, "SVG").decode()
    red = found.page.evaluate("memplan.view.picture.style('capacity')")
    assert svg.count(f'fill="{red}"') > 100
    assert all(f">{name}<" in svg for name in core)
    assert (found.serious_violations(), found.errors) == ([], [])
