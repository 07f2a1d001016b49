"""Plans that other systems made by themselves raise no alarm: a sample of `python -m lab.sound_plans`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import sound_plans
from memplan.planner.verify.verifier import verify
from memplan.systems.reading import read_model
from tests.support import tflite_networks

GRAPHS = Path(__file__).parents[1] / "models" / "ggml"


def alarms(data: bytes) -> int:
    model = read_model(data)
    assert model.own_plan is not None
    return len(verify(model.problem, model.own_plan))


def test_plans_of_ggml_at_several_sizes_are_sound() -> None:
    files = sorted(map(str, GRAPHS.glob("*.json")))
    assert [alarms(data) for data in sound_plans.graphs(*files)] == [0] * 9


@pytest.mark.drawn
@pytest.mark.parametrize("drawn", [sound_plans.pto, sound_plans.onnxruntime])
def test_drawn_plans_are_sound(drawn: Callable[[int], Iterator[sound_plans.Printed]]) -> None:
    for data in drawn(15):
        model = sound_plans.imported(data)
        assert model.own_plan is not None
        assert verify(model.problem, model.own_plan) == ()


@pytest.mark.skipif(importlib.util.find_spec("ai_edge_litert") is None, reason="needs LiteRT")
def test_arenas_of_litert_are_sound_until_a_tensor_is_moved_over_its_neighbour() -> None:
    state = sound_plans.interpreter_state(tflite_networks.mobilenet_v2(32, 8))
    assert alarms(state) == 0
    moved = [line for line in state.splitlines() if line.startswith(b"Tensor") and not line.endswith(b"Offset")]
    last = moved[-1]
    assert alarms(state.replace(last, last[: last.rindex(b"[")] + moved[-2][moved[-2].rindex(b"[") :])) > 0
