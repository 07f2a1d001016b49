"""Measures a row of the zoo: traces a model's step without weights, then plans, orders and certifies it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from lab.zoo.models import Model, loss_of
from lab.zoo.planners import PLANNERS
from memplan.extensions.torch.inside.recording import Recording
from memplan.extensions.torch.inside.step import TorchStep
from memplan.extensions.torch.inside.ways import graph_of
from memplan.planner.errors import MemplanError
from memplan.planner.formats.minimalloc_csv import write_plan, write_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.programs.lifetimes.ordered import problem_of_order
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import order
from memplan.solvers.certificates.certify import certify
from memplan.solvers.portfolio.solve import solve

MODES: Mapping[str, tuple[int, bool]] = {"inference": (1, False), "training": (8, True)}
"""Maps a mode to (batch size, True if the step trains the model, with the optimizer Adam)."""
ALIGNMENTS = ("", "_64")
"""The suffixes of columns: "" for buffers without alignment, and "_64" for buffers aligned to 64 bytes."""
_PLAN_S, _ORDER_S, _OTHER_S = 5.0, 10.0, 5.0
_PROVED = 0
_APART = ("parameters", "optimizer")
COLUMNS = (
    *("source", "family", "model", "mode", "reason", "parameters", "operations", "buffers"),
    *(f"{name}{end}" for end in ALIGNMENTS for name in ("peak", "bound", "certificate", "checked")),
    *("order_given", "order_peak", "order_bound", "order_placed", "order_certificate", "order_checked"),
    *(f"{name}{end}" for end in ALIGNMENTS for name in PLANNERS),
    "cpu_s",
)
Row = dict[str, Any]


@dataclass(frozen=True)
class Checkers:
    """The programs in checkers/, which check plans, their certificates, and certificates for orders."""

    folder: Path
    checkers: Path

    def accept(self, program: str, files: Sequence[Path]) -> bool:
        """Return True if the checker `program` accepts the given files."""
        words = [sys.executable, str(self.checkers / program), *map(str, files)]
        return subprocess.run(words, capture_output=True, check=False).returncode == _PROVED

    def plan(self, name: str, problem: Problem, plan: Plan, certificate: str) -> bool:
        """Return True if the checkers accept a plan, and its certificate as proof that no peak is lower."""
        files = [self.folder / f"{name}{end}" for end in (".csv", ".plan.csv", ".proof")]
        texts = write_problem(problem), write_plan(plan, problem), certificate.encode()
        for path, text in zip(files, texts, strict=True):
            path.write_bytes(text)
        is_valid = self.accept("plan.py", files[:2])
        is_proved = f"\nused {plan.peak}\n" in certificate and self.accept("check.py", files[::2])
        return is_valid and is_proved

    def order(self, name: str, graph: OperationGraph, certificate: str) -> bool:
        """Return True if a certificate proves its claim about the operation orders of a graph."""
        files = [self.folder / f"{name}.graph.json", self.folder / f"{name}.order.proof"]
        files[0].write_text(graph.model_dump_json(by_alias=True, exclude_defaults=True))
        files[1].write_text(certificate)
        return self.accept("order.py", files)


def measure(model: Model, mode: str, checkers: Checkers) -> Row:
    """Return the row of a model in a mode (such as training). If an error occurs, the column `reason` states it."""
    began = time.process_time()
    row: Row = {"source": model.source, "family": model.family, "model": model.name, "mode": mode}
    try:
        row |= _columns(graph_of_step(model, mode), f"{model.source}-{model.name}-{mode}".replace("/", "-"), checkers)
    except MemplanError as error:
        row["reason"] = _short_reason(str(error))
    except Exception as error:  # noqa: BLE001  model builders of other projects may raise any error
        row["reason"] = _short_reason(f"builder: {type(error).__name__}: {error}")
    return row | {"cpu_s": round(time.process_time() - began, 1)}


def _short_reason(text: str) -> str:
    """Return a text in one line of at most 120 characters."""
    return " ".join(text.split())[:120]


def graph_of_step(model: Model, mode: str) -> OperationGraph:
    """Return the operations of a model's step in execution order, recorded with tensors that have no data.

    Parameters, buffers and the optimizer's state are counted separately. Other tensors, including gradients, are alive
    from their operation to their last reader; the results of the model are alive to the end.
    """
    batch, trains = MODES[mode]
    with torch.device("meta"):
        module = model.make().train(trains).to("meta")
    inputs = model.inputs(module, batch)
    step = TorchStep(module, inputs, loss_of if trains else None, (), "adam" if trains else None)
    return _last_step_graph(step.record())


def _last_step_graph(recording: Recording) -> OperationGraph:
    """Return the graph of the last step of a recording, in which each tensor is alive until its last reader."""
    graph = graph_of(recording)
    used = (t for row in recording.operations[recording.last_step :] for t in (*row.reads, *row.makes, *row.changes))
    alive = (t for t, tensor in enumerate(recording.tensors) if tensor.end is None)
    roles = [recording.tensors[t].role for t in dict.fromkeys((*used, *alive))]
    apart = tuple(k for k, role in enumerate(roles) if role in _APART)
    kept = tuple(k for k in graph.kept if roles[k] == "outputs")
    given = tuple(k for k in graph.given if roles[k] not in _APART)
    return graph.model_copy(update={"resident": apart, "kept": kept, "given": given})


def _columns(graph: OperationGraph, name: str, checkers: Checkers) -> Row:
    """Return a graph's columns of a row: memplan's plans in the given and best order, and other planners' peaks."""
    row: Row = {"operations": len(graph.ops), "parameters": sum(graph.size[t] for t in graph.resident)}
    for end in ALIGNMENTS:
        problem = problem_of_order(graph, range(len(graph.ops)), alignment=64 if end else 1)
        plan = solve(problem, time_limit_s=_PLAN_S)
        certificate = certify(problem, plan, time_limit_s=_PLAN_S)
        row |= {"buffers": len(problem.buffers), f"peak{end}": plan.peak, f"bound{end}": plan.lower_bound}
        if certificate.kind != "none":
            row[f"certificate{end}"] = len(certificate.text)
            row[f"checked{end}"] = checkers.plan(name + end, problem, plan, certificate.text)
        row |= {f"{planner}{end}": peak for planner, peak in _planner_bytes(problem)}
    best = order(graph, OrderOptions(time_limit_s=_ORDER_S, with_certificate=True))
    row |= {"order_given": best.given_peak, "order_peak": best.peak, "order_bound": best.lower_bound}
    row["order_placed"] = best.placed_peak
    if best.certificate is not None and best.certificate.text is not None:
        row["order_certificate"] = best.certificate.bytes
        row["order_checked"] = checkers.order(name, graph, best.certificate.text)
    return row


def _planner_bytes(problem: Problem) -> Iterator[tuple[str, int | None]]:
    """Yield (reference planner, its peak in bytes); the peak is None if its plan is invalid or takes too long."""
    for planner in PLANNERS:
        yield planner, solve(problem, solver=f"reference:{planner}", time_limit_s=_OTHER_S).peak
