"""The files written for orders and cascades: models with reordered or split operations, and C programs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.answer import CascadeAnswer, CascadePoint
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.planner.errors import FormatError, OptionError
from memplan.planner.foreign import reading as importers
from memplan.planner.foreign.arena import ModelArena, rules_of
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.systems import system_of, systems
from memplan.programs.commands.writing import RUNTIME, ModelForm
from memplan.programs.models.sequence import write_reordered
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.order.placement import order_and_place
from memplan.programs.order.search.regions import permute
from memplan.questions.question import Control, QuestionOptions
from memplan.questions.reading import Reader

NOT_WRITTEN = "not written, as nothing is gained"
_MOST_WRITTEN = 6
"""The maximum number of split forms (rewritten models) that are written to measure the arena of each."""
_ALIGNMENT = 16
"""The alignment of buffers, in bytes, in the runtimes for whose models memplan writes split operations."""


def c_files(result: CascadeAnswer, source: OperationGraph, name: str) -> Mapping[str, bytes]:
    """Return the C files of the last point, by file name; raises OptionError if its plan uses two memories."""
    if result.conventions.pools:
        raise OptionError.from_rule("pools", "must not be given for C, which has one arena")
    from memplan.extensions.cascade.c_program import write_cascade

    return write_cascade(result.points[-1], source, name, result.conventions.alignment)


class FormInParts(NamedTuple):
    """A model whose operations are split into parts: the bytes of its file, and the arena that the runtime then needs.

    macs_ratio: its multiplications, divided by those of the original model. steps: the number of operations that
    compute only a part. peak: the peak of the live bytes of its values, a lower bound on the arena.
    """

    data: bytes
    arena: ModelArena
    macs_ratio: float
    steps: int
    peak: int


class ModelInParts(Protocol):
    """A model whose operations can be split into parts; the field `rewrites` of a `System` names its constructor."""

    @property
    def access(self) -> AccessGraph:
        """The access maps of the model's operations, in which an operation that cannot be split is a barrier."""
        ...

    def forms(
        self, points: Sequence[CascadePoint], given: ModelArena, measured: Callable[[bytes], ModelArena], most: int
    ) -> Iterator[FormInParts]:
        """Yield at most `most` split forms (rewritten models) that may need less arena than `given`, the best first."""
        ...


def rewritable_model(
    data: bytes, name: str | None, graph: OperationGraph, options: ModelOptions | None = None
) -> ModelInParts:
    """Return a model file as an object that can be searched for cascades and written with split operations.

    `graph` is the graph read from the file. Raises FormatError if memplan cannot write split models in its format.
    """
    system = system_of(importers.detect(data, name))
    if system is None or system.rewrites is None:
        names = ", ".join(each.name for each in systems() if each.rewrites)
        raise FormatError(
            f"must be of a format that can be written in parts ({names}), got {system.name if system else 'none'}"
        )
    model: ModelInParts = system.rewrites(data, graph, options)
    return model


def model_in_parts(reader: Reader, graph: OperationGraph, options: QuestionOptions) -> ModelInParts:
    """Return the input model as an object that can be written with split operations; raises InputError otherwise."""
    assert isinstance(options, CascadeOptions)
    if reader.imported is None:
        raise OptionError("output: applies only to a model, got a graph or a program")
    is_streamed = "streamed" in (options.input, options.output)
    if is_streamed or options.overlap == "sliding" or options.brick > 1 or options.pools:
        raise OptionError.from_rule(
            "output", "must not be given with input, output, overlap, brick or pools, which no runtime supports"
        )
    return rewritable_model(reader.data, reader.name, graph, reader.options)


def reordered_model(data: bytes, name: str | None, graph: OperationGraph, running: Control) -> bytes | None:
    """Return a model's file with its operations in the order of the lowest peak; None if that is the file's order.

    Raises InputError if memplan cannot write the model.
    """
    placed = order_and_place(graph, running, alignment=_ALIGNMENT, goal="placed")
    if not placed.moves:
        return None
    return write_reordered(data, name, permute(placed.ordered or graph, placed.order)).data


def write_in_parts(
    model: ModelInParts, result: CascadeAnswer, data: bytes, options: ModelOptions, ordered: bytes | None = None
) -> ModelForm:
    """Return the form with the smallest arena: split as in a point of `result`, or the reordered file `ordered`.

    The returned form has no data if its arena would not be smaller than that of the original model.
    """
    rules = rules_of(data)
    assert rules is not None, "a system whose models are written in parts has an arena"
    own_arena = rules.arena_of(data, options)

    def arena_of_form(form: bytes) -> ModelArena:
        return rules.arena_of(form, rules.form_options(data, form, options))

    forms = model.forms(result.points, own_arena, arena_of_form, _MOST_WRITTEN)
    found = [(form.arena, form.macs_ratio, form.data, f"{form.steps} operations on parts") for form in forms]
    if ordered is not None:  # A reordered model is simpler than a split one of equal size, so put it first.
        found.insert(0, (arena_of_form(ordered), 1.0, ordered, "another order of whole operations"))
    best = min(found, key=lambda form: (form[0].used, form[1]), default=None)
    if best is None or not best[0].is_smaller(own_arena):
        least = "no form has fewer" if best is None else f"{best[0]} with {best[3]}"
        return ModelForm(None, (f"{NOT_WRITTEN}: {RUNTIME}'s whole arena takes {own_arena}, {least}",))
    arena, macs_ratio, written, change = best
    sentence = (
        f"{change}, {macs_ratio - 1:+.2%} MACs; {RUNTIME}'s whole arena takes {arena}, {own_arena.used:,} as given"
    )
    return ModelForm(written, (sentence,), arena)
