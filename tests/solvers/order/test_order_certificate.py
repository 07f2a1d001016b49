"""Certificates of orders' bounds: what they prove is so, by brute force, and no mutant proves more than there is."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memplan import certify_order, read_graph
from memplan.api.cli.main import main
from memplan.checkers import order as untyped
from memplan.planner.operations.graph import write_graph
from memplan.solvers.order.solve import order_operations
from tests.support.operation_graphs import least_peak, random_graph, with_pairs

ROOT = Path(__file__).parents[3]
GRAPHS = ROOT / "examples" / "graphs"
CHECKER: Any = untyped
WRONG_INPUT = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)


def is_accepted(text: str, lines: list[str]) -> bool:
    try:
        CHECKER.check(text, lines)
    except (CHECKER.Refused, *WRONG_INPUT):
        return False
    return True


def mutant(lines: list[str], rng: random.Random) -> list[str]:
    found = list(lines)
    k = rng.randrange(2, len(lines))
    words = found[k].split()
    j = rng.randrange(len(words))
    words[j] = rng.choice(["0", "1", "2", "5", "-", "t", "o", "state", "while", str(rng.randrange(40))])
    found[k] = " ".join(words)
    return [*found, *rng.sample(found[3:], min(rng.randrange(2), len(found) - 3))]


@pytest.mark.parametrize("are_overwritten", [False, True])
def test_what_is_certified_is_no_more_than_the_least_peak(are_overwritten: bool) -> None:
    rng, certified = random.Random(3), 0
    for _ in range(40):
        graph = random_graph(rng, 7)
        graph = with_pairs(rng, graph) if are_overwritten else graph
        best, result = least_peak(graph), order_operations(graph, deterministic=True)
        found, text = certify_order(graph, result), write_graph(graph).decode()
        if not found.text:
            assert found.reason
            continue
        certified += 1
        assert found.least <= best
        lines = found.text.splitlines()
        assert is_accepted(text, lines)
        false = [lines[0], f"least {best + 1}", *lines[2:]]
        assert not is_accepted(text, false)
        assert not any(is_accepted(text, mutant(false, rng)) for _ in range(20))
    assert certified > (5 if are_overwritten else 15)


def test_the_command_writes_what_the_checker_takes(tmp_path: Path) -> None:
    graph, proof, told = GRAPHS / "synth_intree100_s0.json", tmp_path / "order.proof", tmp_path / "order.json"
    assert main(["order", str(graph), "--certificate", str(proof), "-o", str(told), "-q"]) == 0
    facts = json.loads(told.read_text())
    assert (facts["status"], facts["certificate"]["text"]) == ("optimal", proof.read_text())
    command = [sys.executable, "-S", str(ROOT / "checkers" / "order.py"), str(graph), str(proof)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"proved: no order of the operations has fewer than {facts['lower_bound']} bytes")
    proof.write_text(proof.read_text().replace(f"least {facts['lower_bound']}", f"least {facts['lower_bound'] + 1}"))
    assert subprocess.run(command, capture_output=True, check=False).returncode == 3


def test_a_bound_by_search_says_that_it_has_no_certificate() -> None:
    graph = read_graph(str(GRAPHS / "layered_layered50w5_s1.json"))
    found = certify_order(graph, order_operations(graph, deterministic=True))
    assert found.text == ""
    assert "complete search" in (found.reason or "")
