"""Every command that a message or a hint advises runs as printed, with the given files and flags."""

import ast
import json
import pickle
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import memplan
from memplan.api.cli.main import main
from memplan.api.requests import head_of
from memplan.api.service.request_task import RequestTask, run
from memplan.api.workers.task import TaskControl
from memplan.programs.operations.graph import write_graph
from tests.runtimes import onnx_models
from tests.runtimes.foreign_files import files
from tests.runtimes.tflite_files import two_halves
from tests.support import networks

Captured = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]
MODELS = ROOT / "tests" / "models"
ADVISED = re.compile(r"`memplan ([a-z-]+)([^`]*)`")
PRODUCT = ("planner", "solvers", "questions", "api", "programs", "runtimes", "extensions")

PAIR = [{"id": k, "size": 64, "start": 0, "end": 3} for k in "ab"]
TWO = json.dumps({"buffers": PAIR, "pools": [{"name": "ram", "base_address": 4096}]})
PINNED = "id,lower,upper,size,offset\na,0,2,100,0\nb,1,3,100,150\nc,2,4,9,0\nd,4,5,9,0\n"
ROWS = [onnx_models.value(name, ("N", channels, 32, 32)) for name, channels in (("x", 1), ("y", 8), ("z", 1))]
KERNELS = {"up": np.zeros((8, 1, 3, 3), np.float32), "down": np.zeros((1, 8, 3, 3), np.float32)}
NODES = [onnx_models.node("Conv", way, to, pads=[1] * 4) for way, to in (("x up", "y"), ("y down", "z"))]
CHAIN = onnx_models.model(NODES, ROWS[:1], ROWS[2:], **KERNELS)

CASES: list[tuple[str, str, int, list[str]]] = [
    # the module that has the sentence; the command that is given; its exit status; the commands that it advises
    ("memplan_json", "order two.json", 2, ["plan two.json"]),
    ("memplan_json", "cascade 'a graph/two.json'", 2, ["plan 'a graph/two.json'"]),
    ("memplan_json", "plan graph.json", 2, ["order graph.json", "plan graph.json --order best"]),
    ("memplan_json", "order plan.json", 2, ["verify PROBLEM plan.json"]),
    ("memplan_json", "verify two.json operations.json", 2, ["liveness operations.json", "plan operations.json"]),
    ("advice", "verify plan.json two.json", 2, ["verify two.json plan.json"]),
    ("advice", "convert plan.json two.json --to ld -o a.ld", 2, ["convert two.json plan.json --to ld --output a.ld"]),
    ("problems", "plan pinned.csv --capacity 4KiB -o out.json", 0, ["verify pinned.csv --capacity 4KiB --better"]),
    ("report", "plan two.json --capacity 64 --format table", 1, ["explain two.json --capacity 64 --repairs 3"]),
    (
        "hint",
        "plan chain.onnx --dim N=1 --capacity 9KiB --format table",
        1,
        ["explain chain.onnx --dim N=1 --capacity 9KiB --repairs 3", "cascade chain.onnx --dim N=1 --fit 9216"],
    ),
    ("lines", "explain graph.json --repairs 3 --capacity 12KiB --format table", 0, ["cascade graph.json"]),
    (
        "tflm",
        "convert vela.tflite vela.json --to tflite -o out.tflite",
        2,
        ["convert vela.tflite vela.json --to tflite --output out.tflite --scratch ethos-u=0 --scratch my_op=0"],
    ),
]
MISTAKES = """
graphs:convert graphs:plan reading:verify baseline:check allocation_plan:verify plan_files:plan reading:plan
compare:plan streams:convert usage:plan usage:--help model_graph:plan layout:explain layout:plan inputs:convert
inputs:plan verify:convert schedule:examples over_inputs:plan
"""
"""Commands that texts name, as MODULE:COMMAND, which rows of tests/support/mistakes.txt run."""
ELSEWHERE = {
    "auth:keys": "help of the page of the service",
    "server:keys": "a refusal of memplan serve: tests/api/http/test_serving.py",
    "remote:serve": "a service that is away: it is to be started",
    "fits:plan": "a picture of what fits of a graph of ggml: tests/programs/test_cli_liveness.py",
    "verify:plan": "the plans of others, below",
    "writing:convert": "what an order of a model does not gain: the tests of convert",
    "options:solvers": "help of a flag",
    "core:core": "a comment in the file that it writes",
    **dict.fromkeys(
        ("arena:convert", "arena:plan", "plan:convert", "convert_command:convert"),
        "the way from a chip to two memories, below",
    ),
    "command:bench": "help of a flag",
    "command:plan": "help of a flag",
    "model_solution:convert": "a program of another problem: tests/solvers/mip/test_model_file.py",
    "verify:certify": "a refused certificate beside valid placements: tests/questions/verify/test_verify.py",
    "reading:check": "an option that changes an arena alone: tests/questions/test_option_matrix.py",
    "server:mcp": "a file outside of the folder: extensions/mcp/tests/test_mcp.py",
    "running:solvers": "a solver that is not known: extensions/bench/tests/test_bench_results.py",
}
"""Commands that texts name, which no case shows, with the reason."""


@pytest.fixture
def sample_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a graph").mkdir()
    for name in ("two.json", "a graph/two.json"):
        Path(name).write_text(TWO)
    Path("pinned.csv").write_text(PINNED)
    Path("chain.onnx").write_bytes(CHAIN)
    Path("graph.json").write_bytes(write_graph(networks.two_convolutions()))
    shutil.copy(ROOT / "examples" / "operations.json", "operations.json")
    shutil.copy(MODELS / "vela" / "skip_shared.tflite", "vela.tflite")
    assert main(["plan", "two.json", "-o", "plan.json"]) == 0
    assert main(["plan", "vela.tflite", "-o", "vela.json"]) == 0
    capfd.readouterr()
    return tmp_path


@pytest.mark.parametrize(("_module", "line", "status", "wanted"), CASES, ids=[line for _, line, *_ in CASES])
@pytest.mark.usefixtures("sample_folder")
def test_advised_commands_run_as_said(_module: str, line: str, status: int, wanted: list[str], capfd: Captured) -> None:
    assert main(shlex.split(line)) == status
    said = "\n".join(capfd.readouterr())
    advised = [f"{name}{more}" for name, more in ADVISED.findall(said)]
    assert advised == wanted, said
    for command in advised:
        assert (command, main(shlex.split(command.replace("PROBLEM", "two.json")))) == (command, 0)


WRONG = ROOT / "tests" / "dumps" / "wrong"
BOTH = {"buffers": [{"id": "a", "size": 64, "start": 0, "end": 4}, {"id": "b", "size": 64, "start": 1, "end": 5}]}
OFFSETS = {"a": 0, "b": 32}
PLACED = [{"id": name, "pool": "default", "offset": offset} for name, offset in OFFSETS.items()]
OF_OTHERS: dict[str, dict[str, bytes]] = {
    "allocations.tflite": {"allocations.tflite": dict(files())["planned_wrongly.tflite"]},
    **{
        name: {name: (WRONG / name).read_bytes()}
        for name in ("litert-8889.txt", "llama.cpp-in-place.json", "ptoas-545.pto", "tilelang-ascend-1765.tir")
    },
    "pinned.csv": {"pinned.csv": b"id,lower,upper,size,offset\na,0,4,64,0\nb,1,5,64,32\n"},
    "p.json offsets.json": {"p.json": json.dumps(BOTH).encode(), "offsets.json": json.dumps(OFFSETS).encode()},
    "p.json offsets.csv": {"p.json": json.dumps(BOTH).encode(), "offsets.csv": b"id,offset\na,0\nb,32\n"},
    "baseline.json": {"baseline.json": json.dumps({"problem": BOTH, "plan": {"placements": PLACED}}).encode()},
}
"""Wrong plans as others write them: the files that `memplan verify` is given, and what these hold."""


@pytest.mark.parametrize("given", OF_OTHERS)
def test_an_invalid_plan_of_another_tool_is_repaired_by_the_printed_command(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in OF_OTHERS[given].items():
        Path(name).write_bytes(content)
    assert main(["verify", *shlex.split(given)]) == 3
    first, last = given.split()[0], given.split()[-1]
    assert ADVISED.findall(capfd.readouterr().err) == [("plan", f" {first} --keep {last}")]
    assert main(["plan", first, "--keep", last, "-o", "mended.json"]) == 0
    moved = json.loads(Path("mended.json").read_text())["kept"]
    assert (moved["moved"] >= 1, moved["stayed"] >= 1) == (True, True)
    if first != "pinned.csv":  # whose offsets are pins beside another plan
        assert main(["verify", first, "mended.json"]) == 0


def test_a_file_with_its_own_plan_is_accepted_in_python_and_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(WRONG)
    name = "ptoas-545.pto"
    assert not memplan.verify(name, name).valid
    kept = memplan.plan(name, keep=name).kept
    assert (kept.moved, kept.stayed) == (1, 1)
    found = memplan.verify("onnxruntime-32466.onnx", "onnxruntime-32466.txt")
    assert (len(found.violations), str(found.unmendable)[:31]) == (1, "no plan is valid in these pools")
    task = RequestTask("verify", head_of("application/octet-stream", f"name={name}"), Path(name).read_bytes())
    assert json.loads(run(TaskControl(), task).content)["violations"][0]["rule"] == "overlap"


@pytest.mark.parametrize("given", ["onnxruntime-32466.onnx onnxruntime-32466.txt", "pytorch-187678.py.txt"])
def test_plans_that_cannot_be_repaired_are_told(given: str, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    monkeypatch.chdir(WRONG)
    names = given.split()
    assert main(["verify", *names]) == 3
    said = capfd.readouterr().err
    assert "no plan is valid in these pools: pool " in said
    assert ADVISED.findall(said) == []
    assert main(["plan", names[0], "--keep", names[-1], "--format", "table"]) == 1
    assert ADVISED.findall(capfd.readouterr().out) == []


def advice_texts() -> set[tuple[str, str]]:
    """Return the texts of the product that name a command, but docstrings: (module, command)."""
    found = set()
    for path in (path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")):
        if "tests" in path.parts or "`memplan " not in (text := path.read_text(encoding="utf-8")):
            continue
        module = path.parent.name if path.stem == "__init__" else path.stem
        tree = ast.parse(text)
        documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
                found |= {(module, name) for name in re.findall(r"`memplan ([a-z-]+)", node.value)}
    return found


def test_every_command_that_a_message_advises_is_run_by_a_test_case() -> None:
    shown = {module for module, *_ in CASES}
    found = {f"{module}:{name}" for module, name in advice_texts() if module not in shown}
    assert found - set(ELSEWHERE) - {*MISTAKES.split()} == set()


@pytest.mark.parametrize("file", ["kws.tflite", "kprob.json"])
@pytest.mark.usefixtures("sample_folder")
def test_a_plan_with_further_pools_becomes_c_with_model_or_problem_made_for_a_chip(file: str, capfd: Captured) -> None:
    shutil.copy(MODELS / "recorded" / "kws_dscnn_int8.tflite", "kws.tflite")
    lines = (
        f"convert kws.tflite {CHIP} -o kprob.json",
        "plan kprob.json --pool sram=12KiB --pool psram=1MiB -o both.json",
        f"convert {file} both.json -o both.c",
        f"verify {file} both.json",
    )
    assert [main(shlex.split(line)) for line in lines] == [0, 0, 0, 0]
    assert main(shlex.split(f"plan kws.tflite {CHIP} -o plan.csv")) == 0
    assert f"plan.csv cannot say how the model was read: give {CHIP} with it" in capfd.readouterr().err


def test_the_capacities_of_a_problem_that_python_read_reach_the_next_call() -> None:
    file = str(MODELS / "recorded" / "kws_dscnn_int8.tflite")
    sizes = {"sram": 12288, "psram": 2**20}
    plan = memplan.plan(memplan.read_problem(file, target="esp32s3", kernels="esp-nn", capacity=sizes))
    assert memplan.verify(file, plan).valid
    assert [each.suffix for each in memplan.convert(file, plan, to="c").files] == [".h", ".c"]


@pytest.mark.usefixtures("sample_folder")
def test_the_parts_of_a_plan_of_several_models_know_the_chip() -> None:
    for name in ("one.tflite", "two.tflite"):
        shutil.copy(MODELS / "recorded" / "kws_dscnn_int8.tflite", name)
    assert main(shlex.split(f"plan one.tflite two.tflite --together none {CHIP} -o parts/")) == 0
    assert main(shlex.split("convert one.tflite parts/one.plan.json -o one.c")) == 0


CHIP = "--target esp32s3 --kernels esp-nn"
FIRST = "check --budget 7KiB;plan --capacity 6KiB;explain --capacity 6KiB --repairs 3"
CARRIED = [
    # what the first commands say about the reading, their file, and the commands
    ("", "halves.tflite", FIRST),
    (CHIP, "halves.tflite", FIRST),
    (CHIP, "kws.tflite", "check --budget 20KiB;plan --capacity 20KiB;explain --capacity 20KiB --repairs 3"),
    (
        f"{CHIP} --capacity sram=16KiB@0x3fc90000 --capacity psram=1MiB@0x3c000000",
        "kws.tflite",
        "plan -o plan.json;explain --repairs 3",
    ),
    ("--dim N=1", "chain.onnx", "check --budget 9KiB;plan --capacity 9KiB;explain --capacity 9KiB --repairs 3"),
    ("", "step.pickle", "fits --capacity 1KiB --advise;check --budget 1KiB;plan --capacity 1KiB"),
]
"""A snapshot, a model for no chip and for one whose kernels take scratch, two memories, and open dimensions."""


@pytest.mark.parametrize(("said", "file", "lines"), CARRIED, ids=[f"{file} {said}" for said, file, _ in CARRIED])
@pytest.mark.usefixtures("sample_folder")
def test_what_was_said_once_reaches_all_advised_commands(said: str, file: str, lines: str, capfd: Captured) -> None:
    Path("halves.tflite").write_bytes(two_halves())
    shutil.copy(MODELS / "recorded" / "kws_dscnn_int8.tflite", "kws.tflite")
    times = [{"action": "alloc", "addr": 512, "size": 4096}, {"action": "free_completed", "addr": 512, "size": 4096}]
    Path("step.pickle").write_bytes(pickle.dumps({"segments": [], "device_traces": [times]}))

    def advised_commands(line: str) -> list[str]:
        """Run a command, which may find that nothing fits, and return the commands that it prints."""
        assert main(shlex.split(line if line.startswith("fits") else f"{line} --time-limit 5")) in (0, 1), (
            line,
            capfd.readouterr(),
        )
        return [f"{name}{more}" for name, more in ADVISED.findall("\n".join(capfd.readouterr()))]

    words = (line.partition(" ") for line in lines.split(";"))
    todo = [f"{name} {file} {said} {more} --format table" for name, _, more in words]
    done = set[str]()
    while todo:
        if (line := todo.pop()) in done:
            continue
        done.add(line)
        todo += advised_commands(line)
        if line.endswith("NEW.tflite") and Path("NEW.tflite").exists():
            assert main(shlex.split(f"check NEW.tflite {said} --budget {line.split()[-3]} -q")) == 0, line
    advised = {line.split()[0] for line in done if not line.endswith(" table")}
    if CHIP in said:
        assert main(shlex.split(f"check {file} {CHIP} --budget 1KiB -o out.sarif -o out.json -q")) == 1
        assert all(f"convert {file} {CHIP} --fit" in Path(f"out.{kind}").read_text() for kind in ("sarif", "json"))
        assert all(CHIP in line or "plan.json -o" in line for line in done)
        assert ("kws" in file) == any("/#scratch/" in path.read_text() for path in Path().glob("*_memory.h"))
    assert advised or file == "step.pickle"
