"""The command `memplan fits` for ggml graphs, and the command `memplan shapes` for torch programs."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main

Captured = pytest.CaptureFixture[str]
GRAPHS = Path(__file__).parents[3] / "tests" / "models" / "ggml"


WEIGHTS, PEAK = 33_984, 802_816


@pytest.mark.parametrize(("capacity", "fits", "status"), [(WEIGHTS + PEAK, True, 0), (WEIGHTS + PEAK - 1, False, 1)])
def test_a_ggml_graph_needs_its_weights_and_plan(capacity: int, fits: bool, status: int, capsys: Captured) -> None:
    assert main(["fits", str(GRAPHS / "lenet.json"), "--capacity", str(capacity), "--format", "json"]) == status
    answer = json.loads(capsys.readouterr().out)
    assert (answer["fits"], answer["weights"], answer["peak"], answer["own_peak"]) == (fits, WEIGHTS, PEAK, 1_078_784)


def test_a_ggml_graph_of_several_sizes_needs_the_option_dim(capsys: Captured) -> None:
    graph = str(GRAPHS / "llama_block.json")
    assert main(["fits", graph, "--dim", "n_ctx=4096", "--format", "table"]) == 0
    assert "open: no capacity is given" in capsys.readouterr().out
    assert main(["fits", "step.py:step", "--dim", "n_ctx=8"]) == 2
    assert "dim: applies only to ggml graphs" in capsys.readouterr().err
    assert main(["fits", graph]) == 2
    assert "n_ctx: must have a size, got none; give it, for example: --dim n_ctx=32" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--allocator", "plan"), "allocator: applies only to torch steps, got a ggml graph"),
        (("--context", "1MiB"), "context: applies only to torch steps, got a ggml graph"),
        (("--cublas-workspace", "1MiB"), "cublas_workspace: applies only to torch steps, got a ggml graph"),
        (("-o", "plan.svg"), "must be a JSON file for a ggml graph; `memplan plan` draws its plan"),
        (("-o", "x.graph.json"), "must be another file, because only a step of a script has operations"),
        (("--dim", "n=8"), "dim: must not be given, as graphs of ggml at one size name no dimensions"),
    ],
)
def test_options_of_torch_steps_are_refused_for_ggml(flags: tuple[str, ...], sentence: str, capsys: Captured) -> None:
    assert main(["fits", str(GRAPHS / "lenet.json"), *flags]) == 2
    assert sentence in capsys.readouterr().err


def test_sizes_of_snapshots_change_answers_or_are_refused(tmp_path: Path, capsys: Captured) -> None:
    snapshot = tmp_path / "step.pickle"
    events = [{"action": "alloc", "addr": 0, "size": 512}, {"action": "free_completed", "addr": 0, "size": 512}]
    snapshot.write_bytes(pickle.dumps({"segments": [], "device_traces": [events]}))

    def ask(*flags: str) -> tuple[int, Any, str]:
        status = main(["fits", str(snapshot), "--capacity", "1GiB", "--format", "json", *flags])
        said = capsys.readouterr()
        rows = [] if status else json.loads(said.out)["devices"]
        return status, [{name: row[name] for name in row if name != "wall_time_s"} for row in rows], said.err

    plain = ask()
    assert plain[0] == 0
    for option in ("kernel-workspace", "context", "nccl"):
        status, rows, _ = ask(f"--{option}", "1MiB")
        assert (option, status, rows != plain[1]) == (option, 0, True)
    status, _, said = ask("--cublas-workspace", "1MiB")
    assert (status, "cublas-workspace: must be left out for a snapshot, whose blocks" in said) == (2, True)


def test_the_command_shapes_plans_an_exported_program_for_all_sizes(capsys: Captured) -> None:
    model = str(Path(__file__).parents[3] / "tests" / "models" / "exported.pt2")
    assert main(["shapes", model, "--symbol", "s77=4..64:4", "--format", "table"]) == 0
    assert capsys.readouterr().out.startswith("optimal for all values of s77 from 4 to 64 by 4: 7 buffers, one order")
    assert main(["shapes", model, "--limits", "--within", "4KiB", "--symbol", "s77=2..", "--format", "table"]) == 0
    assert "s77 up to 84, which no plan can pass" in capsys.readouterr().out
    for wrong, sentence in (
        (["--symbol", "s77=4"], "symbol: must be a symbol and its range, such as n=2..2048 or n=8..:8, got"),
        (["--symbol", "b=2..9"], 'symbol: must be a named dimension of the model (s77), got "b"'),
    ):
        assert main(["shapes", model, *wrong]) == 2
        assert sentence in capsys.readouterr().err
