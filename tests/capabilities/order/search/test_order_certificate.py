"""Certificates of orders' bounds: what they prove is so, by brute force, and no mutant proves more than there is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from lab.order_agreement import faults, is_accepted
from memplan import read_graph
from memplan.api.cli.main import main
from memplan.capabilities.order.certificate import certify_order
from memplan.capabilities.order.search.solve import order_operations
from memplan.planner.operations.graph import write_graph

ROOT = Path(__file__).parents[4]
GRAPHS = ROOT / "examples" / "graphs"


def test_the_command_writes_what_the_checker_takes(tmp_path: Path) -> None:
    graph, proof, told = GRAPHS / "synth_intree100_s0.json", tmp_path / "order.proof", tmp_path / "order.json"
    assert main(["order", str(graph), "-o", str(proof), "-o", str(told), "-q"]) == 0
    facts = json.loads(told.read_text())
    assert (facts["status"], facts["certificate"]["text"]) == ("optimal", proof.read_text())
    command = [sys.executable, "-S", str(ROOT / "checkers" / "order.py"), str(graph), str(proof)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"proved: no order of the operations has fewer than {facts['lower_bound']} bytes")
    proof.write_text(proof.read_text().replace(f"least {facts['lower_bound']}", f"least {facts['lower_bound'] + 1}"))
    assert subprocess.run(command, capture_output=True, check=False).returncode == 3


@pytest.mark.parametrize(
    "name", ["cells_amoeba_8x36@32", "cells_darts_cell_1x48@56", "torch_resnet18_b1_sgd", "layered_layered50w5_s1"]
)
def test_a_bound_by_a_complete_search_is_certified_state_by_state(name: str) -> None:
    graph = read_graph(str(GRAPHS / f"{name}.json"))
    result = order_operations(graph, deterministic=True)
    found, text = certify_order(graph, result), write_graph(graph).decode()
    assert (result.witness and result.witness.kind, found.reason) == ("exhaustion", None)
    lines = (found.text or "").splitlines()
    assert lines[1] == f"least {result.peak}"
    assert is_accepted(text, lines)
    assert not is_accepted(text, [lines[0], f"least {result.peak + 1}", *lines[2:]])
    assert not is_accepted(text, lines[:-1])
    assert not is_accepted(text, [*lines, "all 1"])


def test_a_search_that_is_too_large_to_be_written_says_so() -> None:
    graph = read_graph(str(GRAPHS / "layered_layered50w5_s1.json"))
    result = order_operations(graph, deterministic=True)
    found = certify_order(graph, result, time_limit_s=0.01)
    assert found.text is None
    assert "complete search of" in (found.reason or "")
    assert "not all there are in the time" in (found.reason or "")


def test_random_certificates_of_orders_agree_with_enumeration() -> None:
    tally: Counter[str] = Counter()
    assert [line for seed in range(12) for line in faults(seed, tally)] == []
    assert min(tally["joins"], tally["runs"], tally["swaps"]) > 0


def test_a_graph_that_two_readers_could_read_differently_is_wrong_input() -> None:
    lines = ["memplan-order/1", "least 1", "state"]
    assert is_accepted('{"size": [1], "kept": [0], "ops": []}', lines)
    assert not is_accepted('{"size": [0], "size": [1], "kept": [0], "ops": []}', lines)
    assert not is_accepted('{"size": [1.5], "kept": [0], "ops": []}', lines)
