"""Tests of the page's JavaScript modules: their length, their bundles, their types, and their results."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab import page_bundles
from memplan import Buffer, Plan, Pool, Problem, read_problem, shapes, solve
from memplan.extensions.page.file_page import packed_view, plan_page, plan_view
from memplan.extensions.page.tests.browser import Tab, tab, wait_until
from memplan.extensions.shapes.symbolic_input import EXAMPLE
from memplan.planner.model.buffer_table import BufferTable, column
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.sizes import parse_size, size_text
from memplan.programs.symbols.problem import SymbolicProblem
from tests.support.depth import DEPTH

MANY = 1_000_000 if DEPTH > 1 else 200_000
"""The number of buffers on a large page: 200,000, or one million in the tests before a release."""
STATIC = Path(__file__).parents[1] / "static"
OWN = sorted(path for path in STATIC.rglob("*.js") if not {"vendor", "built"} & {*path.parts})
TSC = [
    *("--noEmit", "--allowJs", "--checkJs", "--strict", "--noUnusedLocals", "--noUnusedParameters"),
    *("--noImplicitReturns", "--noImplicitOverride", "--noFallthroughCasesInSwitch", "--allowUnreachableCode", "false"),
    *("--target", "es2022", "--module", "es2022", "--moduleResolution", "bundler"),
]
VENDORED = {"preact.js": "6a81f412be59aaa3b7927657877dcbca248a98134fd544e240d19067600e989c"}
"""The SHA-256 hash of each bundle of another project that the page includes."""


def test_no_module_of_the_page_exceeds_its_limit_of_lines() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in OWN}
    assert {name: count for name, count in lines.items() if count > 400} == {}
    assert sum(lines.values()) <= 6830
    wide = [f"{path.name}: {len(line)}" for path in OWN for line in path.read_text().splitlines() if len(line) > 160]
    assert wide == []


@pytest.mark.parametrize("name", page_bundles.BUNDLES)
def test_the_bundles_are_built_from_the_current_modules(name: str) -> None:
    found = (STATIC / "built" / f"{name}.js").read_text(encoding="utf-8")
    assert page_bundles.digest() in found[:200], "rebuild them with python -m lab.page_bundles"
    esbuild = shutil.which("esbuild")
    if esbuild is not None and subprocess.check_output([esbuild, "--version"], text=True).startswith("0.28."):
        assert page_bundles.build_bundle(page_bundles.BUNDLES[name], esbuild) == found


def test_the_html_page_of_a_model_is_small() -> None:
    problem = read_problem(Path(__file__).parents[3] / "examples" / "mobilenet_v2.csv")
    assert len(plan_page(problem, solve(problem))) < 80_000


def test_the_vendored_bundles_are_those_that_their_readme_lists() -> None:
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (STATIC / "vendor").glob("*.js")}
    assert found == VENDORED
    licences = (STATIC / "vendor" / "LICENSES.txt").read_text(encoding="utf-8")
    assert all(f"== {name}\n" in licences for name in ("preact", "htm"))


@pytest.mark.slow
def test_the_modules_of_the_page_pass_the_type_checker() -> None:
    tsc = shutil.which("tsc")
    if tsc is None or int(subprocess.check_output([tsc, "--version"], text=True).split()[1].split(".")[0]) < 5:
        pytest.skip("types are checked where TypeScript 5 is installed")
    command = [tsc, *TSC, "--lib", "es2022,dom,dom.iterable", *map(str, OWN)]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stdout == ""


def column_of(buffers: int) -> tuple[Problem, Plan]:
    """Return a problem with `buffers` buffers, of which eight are alive at any time, and its plan."""
    start = np.arange(buffers)
    table = BufferTable.from_columns([f"op{i}" for i in range(buffers)], 16 * (1 + start % 5), start, start + 8)
    problem = Problem.model_construct(**{**Problem(buffers=[]).__dict__, "buffers": table})
    offset, pool = column(80 * (start % 8)), column(np.zeros(buffers))
    return problem, Plan(status="feasible", peak=640, placements=PlacementTable(table.ids, ("default",), pool, offset))


@pytest.mark.slow
def test_a_page_with_very_many_buffers_can_be_drawn_and_zoomed(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "many.html"
    path.write_bytes(plan_page(*column_of(MANY)))
    assert path.stat().st_size < 60 * MANY
    with tab(browser) as seen:
        seen.page.goto(path.as_uri())
        wait_until(seen, "!!(window.memplan && memplan.ready && memplan.view.picture.summed)")
        assert seen.page.evaluate("memplan.view.picture.summed") == MANY
        seen.page.evaluate(
            f"memplan.view.picture.camera.show({{left: 0.5, right: 0.5 + {10 / MANY}, top: 0, bottom: 1}})"
        )
        wait_until(seen, "memplan.view.picture.filled > 10 && memplan.view.picture.filled < 40")
        assert seen.page.evaluate(f"memplan.view.search.find('op{MANY - 1}') ?? memplan.view.search.hits") == [MANY - 1]
        assert (seen.errors, seen.policy_breaks) == ([], [])


def pixels(found: Tab) -> Any:
    script = """() => { const c = memplan.view.picture.base;
      return [c.width, c.height, ...c.getContext("2d").getImageData(0, 0, c.width, c.height).data]; }"""
    width, height, *data = found.page.evaluate(script)
    return np.array(data, dtype=np.uint8).reshape(height, width, 4)


@pytest.mark.slow
def test_the_picture_draws_each_buffer_at_its_offset_and_times(browser: Any, tmp_path: Path) -> None:
    sizes = (400, 300, 200, 100)
    buffers = [Buffer(id=k, size=size, start=2 * k, end=2 * k + 2) for k, size in enumerate(sizes)]
    problem = Problem(buffers=buffers, pools=[Pool(size=400)])
    path = tmp_path / "steps.html"
    path.write_bytes(plan_page(problem, solve(problem)))
    with tab(browser, 700, 500) as found:
        found.page.goto(path.as_uri())
        wait_until(found, "!!(window.memplan && memplan.ready && memplan.view.picture.filled)")
        image = pixels(found)
    height, width, _ = image.shape
    drawn = (image[:, :, :3] < 250).any(axis=2)
    for k, size in enumerate(sizes):
        top = drawn[:, slice(int(width * (2 * k + 0.2) / 8), int(width * (2 * k + 1.8) / 8))].argmax(axis=0)
        assert np.abs(height - top - height * size / (400 * 1.06)).max() <= 2


UNITS = Path(__file__).with_name("page_modules.test.mjs")
TEXTS = ["4096", "1MiB", "1.5 KiB", "64kB", "64K", "0x10000", " 2 GB ", "9223372036854775807", "9223372036854775808"]
TEXTS += ["1.0001 KiB", "12 kib", "", "-1", "1,5 KiB", "1e3", "0X1f", "7 EiB", "1  B"]
HALVES = [16000, 15995, 16010, 1025536, 1047552, 1_047_000, 1024 * 1001 + 512, 1024 * 1002 + 512, 1599999]


def read(text: str) -> str | None:
    try:
        return str(parse_size(text))
    except ValueError:
        return None


def shapes_at(b: int, n: int) -> dict[str, Any]:
    """Return a plan with symbols, and its sizes, peak and bound at the values b and n, computed by its expressions."""
    answer = shapes(SymbolicProblem.model_validate(EXAMPLE))
    (peak,), (bound,), found = answer.programs[0].peak or (), answer.bound, answer.model_dump(mode="json")
    at = {"b": b, "n": n}
    size = [int(eval(text, {}, at)) for text in answer.sizes]
    ends = {"peak": eval(peak, {}, at), "bound": eval(bound, {}, at)}
    return {"answer": found, "at": f"b={b}, n={n}", "problem": [size[k] for k in answer.size_of]} | ends


def test_the_modules_of_the_page_pass_their_own_tests(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("modules are tested where node is installed")
    buffers = [
        Buffer(id=f"b{k}", size=64 if k % 3 else 2**60 + k, start=k, end=k + 3, alignment=8 if k % 2 else 1)
        for k in range(120)
    ]
    problem = Problem(buffers=buffers, pools=[Pool(name="sram")])
    view = plan_view(problem, solve(problem, time_limit_s=2))
    charted = {"kind": "chart", "points": [{"x": 1, "view": view}, {"x": 2, "view": None}]}
    sizes = [*HALVES, *(7**k for k in range(18)), *range(1000, 1100)]
    texts = {"sizes": [[size, size_text(size)] for size in sizes], "read": [[text, read(text)] for text in TEXTS]}
    expected = texts | {"packed": packed_view(charted), "rows": charted, "shapes": shapes_at(7, 300)}
    (tmp_path / "expected.json").write_text(json.dumps(expected), encoding="utf-8")
    assert "columns" in json.dumps(expected["packed"])
    env = os.environ | {"EXPECTED": str(tmp_path / "expected.json")}
    found = subprocess.run([node, "--test", str(UNITS)], env=env, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
