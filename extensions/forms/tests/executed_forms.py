"""Forms of TensorFlow Lite models that memplan writes, run in TFLite Micro: equal outputs, in the reported bytes.

Each model is run as given, in the form that `convert` chooses, in the order of `order -o`, and in parts as of `cascade
-o`, on random inputs. A form must start in the arena reported for it, and must not start in 64 bytes less, unless
kernels are unknown.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from memplan.extensions.cascade.answer import CascadeAnswer
from memplan.extensions.cascade.cascade import CascadeOptions, cascade
from memplan.extensions.cascade.writing import model_in_parts, write_in_parts
from memplan.extensions.files.convert.options import ConvertOptions
from memplan.extensions.forms.device_forms import FormSearch
from memplan.planner.errors import InputError
from memplan.programs.commands.writing import write_model
from memplan.programs.inputs import read_graph
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import order
from memplan.questions.question import Control
from memplan.questions.reading import Reader
from memplan.runtimes.tflite import arena
from memplan.runtimes.tflite.interpreter import MicroRun, run

_LESS = 64
Run = Callable[[bytes, int], MicroRun]
"""Runs a model in an arena of so many bytes."""


class Form(NamedTuple):
    name: str
    data: bytes


def forms(data: bytes, seconds: float) -> Iterator[Form]:
    """Yield the forms of a model that memplan writes; where it writes none, the model as given."""
    running = Control().begin(OrderOptions(time_limit_s=seconds))
    yield Form("convert", FormSearch(data, ConvertOptions(time_limit_s=seconds), running).run().data)
    reader = Reader()
    graph = read_graph(reader, data, "model.tflite")
    yield Form("order", write_model(reader, order(graph, OrderOptions(time_limit_s=seconds))).data or data)
    options = CascadeOptions(alignment=16, time_limit_s=seconds)
    try:
        model = model_in_parts(reader, graph, options)
        found: CascadeAnswer = cascade(model.access, options)
        yield Form("cascade", write_in_parts(model, found, data, reader.options).data or data)
    except InputError:  # that no form in parts is possible
        return


def faults(data: bytes, seconds: float, tally: Counter[str], run: Run = run) -> Iterator[str]:
    """Yield the errors of a model's forms and of the arena computed for it; count the runs."""
    given = arena.arena_of(data)
    before = run(data, given.least)
    if before.outputs is None and not given.unknown:
        yield f"as given does not run in {given.least} bytes: {before.said}"
    tally["given models that run" if before.outputs is not None else "given models that do not run"] += 1
    seen = {data}
    yield from _overestimates("as given", data, tally, run)
    for form in forms(data, seconds):
        if form.data in seen:
            continue
        seen.add(form.data)
        now = run(form.data, arena.arena_of(form.data).least)
        tally[f"forms of {form.name}"] += 1
        if before.outputs is not None and (now.outputs is None or not now.equals(before)):
            yield f"{form.name}: {now.said if now.outputs is None else 'its outputs differ'}"
        yield from _overestimates(form.name, form.data, tally, run)


def _overestimates(name: str, data: bytes, tally: Counter[str], run: Run) -> Iterator[str]:
    whole = arena.arena_of(data)
    if whole.unknown:
        tally["arenas not known"] += 1
    elif not run(data, whole.least - _LESS).fails:
        yield f"{name}: starts in {_LESS} bytes less than {whole.least}"
    else:
        tally["arenas exact within 64 bytes"] += 1
