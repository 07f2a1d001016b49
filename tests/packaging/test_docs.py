"""The Python examples, commands and files shown in `docs/` work."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab import manual
from memplan.api.cli.commands import make_command
from memplan.api.cli.main import main
from memplan.planner.formats import read_problem
from memplan.planner.model.problem import Problem
from memplan.programs.lifetimes import problem_of
from memplan.programs.operations.graph import write_graph
from memplan.programs.operations.operations import operations_from
from memplan.solvers.portfolio.solve import solve
from tests.runtimes import onnx_models, tflite_networks
from tests.support import networks, public_problems
from tests.support.server import RunningServer

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
KEYWORDS = ROOT / "tests" / "models" / "recorded" / "kws_dscnn_int8.tflite"

_ROWS = [onnx_models.value(name, ("batch", 4)) for name in "xy"]
BATCHED = onnx_models.model([onnx_models.node("Relu", "x", "y")], _ROWS[:1], _ROWS[1:])


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page in a language; for "", the blocks without a language."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [code for named, code in found if named == language]


def run_page(page: str, without: str = "", **names: Any) -> dict[str, Any]:
    """Run the Python blocks of a page in one namespace (initially `names`), without the text `without`; return it."""
    for code in blocks(page, "python"):
        assert without in code
        exec(compile(code.replace(without, ""), page, "exec"), names)
    return names


@pytest.fixture
def problem() -> Problem:
    return public_problems.problem("tflite/kws_dscnn_int8.csv")


@pytest.mark.parametrize(
    ("page", "value_of", "expected"),
    [
        ("plan.md", lambda names: (names["kept"].stayed, names["kept"].proved), (3, True)),
        ("verify.md", lambda names: (names["verdict"].better.peak, names["verdict"].better.best), (22, 16)),
        ("verify.md", lambda names: names["verdict"].better.fewest_moves.moved, ("c",)),
        ("explanations.md", lambda names: names["reason"].kind, "core"),
        ("liveness.md", lambda names: solve(names["problem"]).status, "optimal"),
    ],
)
def test_python_examples_of_a_page_compute_the_shown_values(
    page: str, value_of: Callable[[dict[str, Any]], object], expected: object
) -> None:
    assert value_of(run_page(page)) == expected


def test_python_examples_of_systems_md_run_as_shown(problem: Problem) -> None:
    names = run_page("systems.md", data=BATCHED, problem=problem, plan=solve(problem))
    assert len(names["model"].problem.buffers) > 0
    assert set(names["files"]) == {".h", ".c"}


def test_python_examples_of_cascades_md_run_as_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    # Checking all 15 points takes 12 s, so `check=True` is removed; other tests check smaller networks.
    points = run_page("cascades.md", without=", check=True")["answer"].points
    ends = [(point.peak, round(100 * (point.macs_ratio - 1), 2)) for point in (points[0], points[-1])]
    assert ends == [(268_896, 0.0), (195_320, 8.53)]


def test_python_examples_of_service_md_run_as_shown(problem: Problem, server: RunningServer) -> None:
    (code,) = blocks("service.md", "python")
    names: dict[str, Any] = {"problem": problem, "problems": [problem, problem]}
    exec(compile(code.replace("127.0.0.1:8000", f"127.0.0.1:{server.port}"), "service.md", "exec"), names)
    assert names["best"].peak == names["plan"].peak == 16_000


def test_the_json_examples_of_formats_md_are_valid() -> None:
    problem, plan = (json.loads(block) for block in blocks("formats.md", "json"))
    assert solve(read_problem(json.dumps(problem).encode()), accept="fit").placements
    rows = ({"id": "a", "size": 64, "start": 0, "end": 3}, {"id": "b", "size": 32, "start": 2, "end": 3})
    found = solve(Problem.model_validate({"buffers": rows})).model_dump(mode="json", include=set(plan))
    assert {**found, "problem_hash": "sha256:...", "wall_time_s": plan["wall_time_s"]} == plan


def test_the_json_example_of_liveness_md_is_valid() -> None:
    (block,) = blocks("liveness.md", "json")
    assert solve(problem_of(operations_from(json.loads(block)))).status == "optimal"


@pytest.fixture
def model_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Problem) -> Path:
    """A folder with the files that the pages assume."""
    monkeypatch.chdir(tmp_path)
    assert main(["examples"]) == 0  # writes the example files, because the folder is empty
    shutil.copy(KEYWORDS, tmp_path / "model.tflite")
    shutil.copy(ROOT / "tests" / "models" / "thirds.pte", tmp_path / "model.pte")
    shutil.copy(public_problems.FOLDER / "tflite" / "kws_dscnn_int8.csv", tmp_path / "model.csv")
    (tmp_path / "model.onnx").write_bytes(BATCHED)
    (tmp_path / "models").mkdir()
    shutil.copy(KEYWORDS, tmp_path / "models" / "kws.tflite")
    (tmp_path / "models" / "detector.onnx").write_bytes(BATCHED)
    (tmp_path / "budgets.toml").write_text(blocks("builds.md", "toml")[0])
    (tmp_path / "problem.json").write_text(blocks("plan.md", "json")[0])
    (tmp_path / "graph.json").write_bytes(write_graph(networks.two_convolutions()))
    (tmp_path / "mine.py").write_text(blocks("systems.md", "python")[-1])
    return tmp_path


def commands(page: str, language: str = "") -> list[list[str]]:
    lines = [line for block in blocks(page, language) for line in block.splitlines() if line.startswith("memplan ")]
    # Text after two spaces is a comment; lines with an ellipsis or brackets are not runnable.
    written = [re.split(r"\s{2,}|\s>\s", line)[0] for line in lines if not re.search(r"…|\.\.\.|\[", line)]
    return [shlex.split(line, comments=True)[1:] for line in written]


CHECK = "check model.tflite --budget 256KiB --baseline memory.json -o memory.md -o memory.xml"
SAVE = "check models/kws.tflite --budgets budgets.toml --save-baseline models/kws.memory.json"
BEFORE = {
    "liveness examples/operations.json --plan plan.json": ["plan problem.json -o plan.json"],
    CHECK: ["check model.tflite --save-baseline memory.json"],
    "check models --budgets budgets.toml": [SAVE],
    "convert problem.json plan.json -o arena.c": ["plan problem.json -o plan.json"],
}
"""Commands that must run before certain commands of the pages."""


def _shapes_files() -> None:
    shutil.copy(ROOT / "tests" / "models" / "exported.pt2", "program.pt2")
    rows = [onnx_models.value(name, ("batch", "sequence")) for name in "xy"]
    Path("model.onnx").write_bytes(onnx_models.model([onnx_models.node("Relu", "x", "y")], rows[:1], rows[1:]))
    row = {"id": "scores", "size": "3072*b*n", "start": 0, "end": 1}
    symbols = {"b": {"min": 1, "max": 8}, "n": {"min": 1, "max": 64}}
    Path("problem.json").write_text(json.dumps({"symbols": symbols, "buffers": [row, row | {"id": "mask"}]}))
    Path("offsets.json").write_text(json.dumps({"offsets": {"scores": "3072*b*n", "mask": 0}, "arena": "6144*b*n"}))


def _plan_files() -> None:
    Path("textures.json").write_text(blocks("plan.md", "json")[1])
    for name in ("keyword.tflite", "image.tflite"):
        shutil.copy("model.tflite", name)
    shutil.copy("model.csv", "audio.csv")
    shutil.copy(public_problems.library_file("reuse/dsa-solver-test_matmul__matmul-soft.json"), "waits.json")


def _ggml_files() -> None:
    graphs = ROOT / "tests" / "models" / "ggml"
    for name, source in {
        "llama": "llama_block",
        "vision": "lenet",
        "vae": "vae_block",
        "devices": "llama_block_two_memories",
    }.items():
        shutil.copy(graphs / f"{source}.json", f"{name}.json")
    Path("text.json").write_bytes(b'{"format"' + (graphs / "llama_block.json").read_bytes().split(b'{"format"')[1])


OWN_FILES: dict[str, Callable[[], object]] = {
    # A model with operations that can be split.
    "cascades.md": lambda: Path("model.tflite").write_bytes(tflite_networks.mobilenet_v2(64, 8)),
    "ggml.md": _ggml_files,
    "shapes.md": _shapes_files,
    "plan.md": _plan_files,
}
"""Functions that write the additional or different files that a page needs."""


PAGES = sorted(
    page.name for page in DOCS.glob("*.md") if page.name != "reference.md"
)  # test_readme.py runs its commands
STAYING = {"bench", "database", "keys", "serve", "worker"}
"""Commands that these tests skip: they run for hours, never end, or write to the database."""


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_documentation_page_succeed(model_folder: Path, page: str) -> None:
    found = [line for language in ("", "sh") for line in commands(page, language)]
    OWN_FILES.get(page, lambda: None)()
    for arguments in found:
        if arguments[0] in STAYING or {"packs.txt", "suite/", "FILE", "PROBLEM"} & set(arguments):
            continue
        for before in BEFORE.get(shlex.join(arguments), ()):
            assert main(shlex.split(before)) == 0
        assert (arguments, main(arguments)) == (arguments, 0)


def sessions(page: Path) -> list[tuple[str, str]]:
    every = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    steps = [step for named, code in every if not named and code.startswith("$ ") for step in code[2:].split("\n$ ")]
    return [(line, shown) for line, _, shown in (step.partition("\n") for step in steps)]


SHOWING = [page for page in (ROOT / "README.md", *(DOCS / name for name in PAGES)) if sessions(page)]


@pytest.mark.parametrize("page", SHOWING, ids=lambda page: page.name)
def test_commands_print_what_a_page_shows(model_folder: Path, capfd: pytest.CaptureFixture[str], page: Path) -> None:
    OWN_FILES.get(page.name, lambda: None)()
    for line, shown in sessions(page):
        program, *arguments = shlex.split(line)
        if program == "cat":
            Path(arguments[0]).write_text(shown)
            continue
        capfd.readouterr()
        if program == "memplan":
            main(arguments)
        else:
            subprocess.run([program, *arguments], check=True)
        printed = capfd.readouterr().out
        parts = [part for each in shown.splitlines() for part in each.split("...") if part.strip()]
        assert (line, [part for part in parts if part not in printed]) == (line, [])


def test_the_reference_page_and_the_tables_of_fields_equal_the_generated_ones() -> None:
    assert manual.PAGE.read_text(encoding="utf-8") == manual.manual()
    assert manual.FORMATS.read_text(encoding="utf-8") == manual.formats()


def test_documentation_pages_show_more_than_twenty_outputs_to_compare() -> None:
    assert sum(len(sessions(page)) for page in SHOWING) > 20


def test_documentation_pages_show_more_than_35_runnable_commands() -> None:
    assert sum(len(commands(page, language)) for page in PAGES for language in ("", "sh")) > 35


def named_commands(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    shown = [line for block in found for line in block.split("\n")]
    lines = re.findall(r"`(memplan [a-z][^`\n]*)`", text) + [line for line in shown if line.startswith("memplan ")]
    return [re.sub(r"[\[\]]", "", re.split(r"\s{2,}|\s[#>]\s", line)[0]) for line in lines]


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda page: page.name)
def test_commands_named_in_the_documentation_exist_with_their_flags(page: Path) -> None:
    for line in named_commands(page):
        name, *rest = shlex.split(line)[1:]
        if name == "lint":  # `memplan lint` exists only as an example
            continue
        command: Any = make_command(name)
        if rest and hasattr(command, "commands"):
            command = command.commands[rest.pop(0)]
        flags = {"--help", *(flag for each in command.params for flag in (*each.opts, *each.secondary_opts))}
        assert [word for word in rest if re.match("--?[a-z]", word) and word.partition("=")[0] not in flags] == [], line
        places = [each.nargs for each in command.params if each.param_type_name == "argument"]
        words = [each for each, before in zip(rest, ["", *rest], strict=False) if not {each[:1], before[:1]} & {"-"}]
        assert -1 in places or len([each for each in words if each != "|"]) <= sum(places), line


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
def test_python_examples_of_executorch_md_run_as_shown() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("executorch.exir", reason="needs the extra executorch")
    exported = torch.export.export(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()), (torch.randn(2, 8),))
    names = run_page("executorch.md", exported=exported)
    assert len(names["program"].buffer) > 0
    assert len(names["model"].problem.buffers) > 0
