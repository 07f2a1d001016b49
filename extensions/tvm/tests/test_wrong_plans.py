"""Tests of wrong plans inside TVM: memplan's check detects them, and an unchecked wrong plan changes outputs."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm.relax", reason="needs the extra tvm")

from relax_modules import chain, draw, module_of, outputs, prepare_module
from tvm import relax, tirx

import memplan.tvm
from memplan.extensions.tvm import passes, places
from memplan.extensions.tvm.places import ALIGNMENT, StoragePlaces, check_places, place_in_pools
from memplan.extensions.tvm.tensors import AllocatedTensor, Lifetimes

pytestmark = [pytest.mark.tvm, pytest.mark.filterwarnings("ignore")]
MUTANTS = 500


def facts() -> tuple[list[AllocatedTensor], StoragePlaces]:
    module = prepare_module(module_of(chain, (24, 16)))
    kernels = [name for name, each in module.functions_items() if isinstance(each, tirx.PrimFunc)]
    tensors = [each for each in Lifetimes(module, module["main"], kernels).tensors if each.is_planned]
    return tensors, place_in_pools(tensors)


def has_overlap(tensors: Sequence[AllocatedTensor], places: StoragePlaces) -> bool:
    """Return True if two tensors overlap or an offset is invalid, found by comparing sets of (byte, step)."""
    for j, (_, at) in enumerate(places.of):
        if at % ALIGNMENT or at < 0 or at + (tensors[j].size or 0) > places.storages[0]:
            return True
        for i in range(j):
            steps = [range(each.start, each.end) for each in (tensors[i], tensors[j])]
            spans = [range(places.of[k][1], places.of[k][1] + (tensors[k].size or 0)) for k in (i, j)]
            if {*steps[0]} & {*steps[1]} and max(spans[0][0], spans[1][0]) <= min(spans[0][-1], spans[1][-1]):
                return True
    return False


def mutants(tensors: Sequence[AllocatedTensor], places: StoragePlaces) -> Iterator[StoragePlaces]:
    """Yield endless changed copies of `places`, in which one tensor is moved, or two tensors are exchanged."""
    chance = random.Random(0)
    while True:
        of = list(places.of)
        i, j = chance.sample(range(len(of)), 2)
        if chance.random() < 0.5:
            of[i] = 0, of[i][1] + chance.choice((-1, 1)) * chance.choice((1, 64, 128, 1024))
        else:
            of[i], of[j] = of[j], of[i]
        yield replace(places, of=tuple(of))


def test_check_places_refuses_mutated_plans() -> None:
    tensors, right = facts()
    assert not has_overlap(tensors, right)
    wrong = 0
    for mutant in mutants(tensors, right):
        if not has_overlap(tensors, mutant):
            check_places(tensors, mutant)
            continue
        with pytest.raises(RuntimeError, match="memplan's plan must satisfy the verifier, got: "):
            check_places(tensors, mutant)
        wrong += 1
        if wrong == MUTANTS:
            break


def test_invalid_offsets_of_the_first_search_are_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors, right = facts()
    for wrong in (np.zeros(len(tensors), dtype=np.int64), np.array([at - ALIGNMENT for _, at in right.of])):
        monkeypatch.setattr(places, "offsets_at_bound", lambda *_, offsets=wrong: offsets)
        assert check_places(tensors, place_in_pools(tensors)).storages == right.storages


def test_executing_an_invalid_plan_in_tvm_changes_the_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    module, x = module_of(chain, (24, 16)), draw(24, 16)
    own = outputs(module, x)

    def place_at_start(tensors: Sequence[AllocatedTensor], *_: Any) -> StoragePlaces:
        most = max(each.size or 0 for each in tensors)
        return StoragePlaces(("storage",), (most,), tuple((0, 0) for _ in tensors), most)

    monkeypatch.setattr(passes, "place_in_pools", place_at_start)
    memplan.tvm.install()
    try:
        assert outputs(module, x) != own
    finally:
        memplan.tvm.uninstall()
    assert relax.transform.StaticPlanBlockMemory is passes._OwnPass
