"""Models of TensorFlow Lite in the forms that memplan writes, run in TFLite Micro: equal outputs, in the bytes told.

Each is run as given, in the form that `convert` chooses, in the order of `order -o`, and in parts as of `cascade -o`,
on drawn inputs. A form must start in the arena that is told of it, and not in one of 64 bytes less, unless kernels are
not known. Drawn models, one for each operator in float32 and in int8 and then mixed ones, come after those of files.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from lab.support.cases import ended
from memplan.extensions.cascade.answer import CascadeAnswer
from memplan.extensions.cascade.cascade import CascadeOptions, cascade
from memplan.extensions.cascade.writing import model_in_parts, written_in_parts, written_model
from memplan.extensions.models.tests.micro_models import FLOAT_ONLY, LAYERS, micro_model
from memplan.extensions.models.tflite import arena
from memplan.extensions.models.tflite.device_forms import FormSearch
from memplan.extensions.models.tflite.interpreter import MicroRun, run
from memplan.extensions.models.tflite.model import read_model
from memplan.extensions.networks.order.options import OrderOptions
from memplan.extensions.networks.order.order import order
from memplan.planner.errors import InputError
from memplan.questions.capability import Control
from memplan.questions.convert.options import ConvertOptions
from memplan.questions.reading import Reader

_LESS = 64
Run = Callable[[bytes, int], MicroRun]
"""Runs a model in an arena of so many bytes."""


class Form(NamedTuple):
    """A form of a model: what it was written by, and its file."""

    name: str
    data: bytes


def forms(data: bytes, seconds: float) -> Iterator[Form]:
    """Yield the forms of a model that memplan writes, but for those that are the model as given."""
    running = Control().begun(OrderOptions(time_limit_s=seconds))
    best = FormSearch(data, ConvertOptions(time_limit_s=seconds), running)
    yield Form("convert", best.run().data)
    reader = Reader()
    graph = reader.graph(data, "model.tflite")
    ordered = written_model(reader, order(graph, OrderOptions(time_limit_s=seconds))).data
    yield Form("order", ordered or data)
    options = CascadeOptions(alignment=16, time_limit_s=seconds)
    try:
        model = model_in_parts(reader, graph, options)
        found: CascadeAnswer = cascade(model.access, options)
        yield Form("cascade", written_in_parts(model, found, data, {}).data or data)
    except InputError:  # that no form in parts is possible
        return


def faults(data: bytes, seconds: float, tally: Counter[str], run: Run = run) -> Iterator[str]:
    """Yield what is wrong with the forms of a model, and with the arena that is told of it; count what was run."""
    given = arena.arena_of(data)
    before = run(data, given.least)
    if before.outputs is None and not given.unknown:
        yield f"as given does not run in {given.least} bytes: {before.said}"
    tally["given models that run" if before.outputs is not None else "given models that do not run"] += 1
    seen = {data}
    yield from _too_large("as given", data, tally, run)
    for form in forms(data, seconds):
        if form.data in seen:
            continue
        seen.add(form.data)
        now = run(form.data, arena.arena_of(form.data).least)
        tally[f"forms of {form.name}"] += 1
        if before.outputs is not None and (now.outputs is None or not now.equals(before)):
            yield f"{form.name}: {now.said if now.outputs is None else 'its outputs differ'}"
        yield from _too_large(form.name, form.data, tally, run)


def _too_large(name: str, data: bytes, tally: Counter[str], run: Run) -> Iterator[str]:
    """Yield a sentence where a model starts in less than it is said to need."""
    whole = arena.arena_of(data)
    if whole.unknown:
        tally["arenas not known"] += 1
    elif not run(data, whole.least - _LESS).fails:
        yield f"{name}: starts in {_LESS} bytes less than {whole.least}"
    else:
        tally["arenas exact within 64 bytes"] += 1


def drawn(count: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield so many drawn models by their names: each operator in both types first."""
    rows = [(name, is_int8) for name in sorted(LAYERS) for is_int8 in (True, False)]
    rows = [(name, is_int8) for name, is_int8 in rows if not (is_int8 and name in FLOAT_ONLY)]
    for k in range(count):
        name, is_int8 = rows[k] if k < len(rows) else ("", k % 2 == 0)
        kind = "int8" if is_int8 else "float32"
        names = (name,) if name else ()
        yield f"drawn {k} {name} {kind}", lambda k=k, i=is_int8, n=names: micro_model(k, is_int8=i, names=n)  # type: ignore[misc]


def main() -> int:
    """Run all models, print each fault and the counts; return 1 where there are faults."""
    parser = ArgumentParser(prog="python -m lab.executed", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="folders with models, or models")
    parser.add_argument("--drawn", type=int, default=60, help="how many models are drawn")
    parser.add_argument("--seconds", type=float, default=2.0, help="the time of each search")
    given = parser.parse_args()
    files = [
        path
        for each in given.folders
        for path in ([each] if each.is_file() else sorted([*each.rglob("*.tflite"), *each.rglob("*.lite")]))
    ]
    models: list[tuple[str, Callable[[], bytes]]] = [(str(path), path.read_bytes) for path in files]
    tally, operators, n_faults = Counter[str](), set[str](), 0
    for name, data_of in (*models, *drawn(given.drawn)):
        tally["models"] += 1
        data = data_of()
        operators |= {operator.name for graph in read_model(data).subgraphs for operator in graph.operators}
        for fault in faults(data, given.seconds, tally):
            n_faults += 1
            print(f"{name}: {fault}", flush=True)
    return ended(tally + Counter(operators=len(operators)), n_faults)


if __name__ == "__main__":
    sys.exit(main())
