"""The files that orders and cascades become: a model in another order or in parts, and C."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from memplan.capabilities.capability import CapabilityOptions
from memplan.capabilities.cascade.answer import CascadeAnswer, CascadePoint
from memplan.capabilities.cascade.c_program import write_cascade
from memplan.capabilities.cascade.in_parts.write import RewritableModel, Rewriting, rewritable, rewritings
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.capabilities.order.answer import OrderAnswer
from memplan.capabilities.order.search.regions import permuted
from memplan.capabilities.reading import Reader
from memplan.planner.errors import OperationsError, OptionError, shown
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.systems import file_readers
from memplan.systems import reading as importers
from memplan.systems.arena import ModelArena, rules_of
from memplan.systems.writing import write_reordered

RUNTIME = "TFLite Micro"
NOT_WRITTEN = "not written, as nothing is gained"
_AS_GIVEN = "written as given, as nothing is gained"
_MOST_WRITTEN = 6
"""The forms of cascades that are written to learn what a runtime's arena takes."""


def refuse_other_format(reader: Reader, target: str) -> None:
    """Raise OptionError for a file whose name ends as models of another format do than the one that was read."""
    own = importers.detect(reader.data, reader.name)
    other = next((name for name, each in file_readers().items() if target.lower().endswith(each.suffixes or "\0")), own)
    if own is not None and other != own:
        endings = " or ".join(file_readers()[own].suffixes)
        raise OptionError(f"output: must end in {endings}, as the model is one of {own}, got {shown(target)}")


@dataclass(frozen=True)
class Written:
    """A model in another form, the sentences about it, and its arena; without bytes, why nothing is gained by it."""

    data: bytes | None
    sentences: tuple[str, ...]
    arena: ModelArena | None = None


def written_model(reader: Reader, found: OrderAnswer) -> Written:
    """Return the model that was read with its operations in the order of an answer; as given, if that is no better."""
    assert found.ordered is not None, "an answer of this machine's own has its graph"
    rules = rules_of(reader.data)
    if found.moves == 0 or (rules is None and found.saved_bytes <= 0):
        return Written(reader.data, (f"{_AS_GIVEN}: the given order has the least peak, {found.peak:,} bytes",))
    file = write_reordered(reader.data, reader.name, permuted(found.ordered, found.order))
    left_out = tuple(f"has not {what}" for what in file.left_out)
    if rules is None:
        return Written(file.data, left_out)
    own_arena, arena = (rules.arena_of(data, reader.options.scratch) for data in (reader.data, file.data))
    if not arena.is_smaller(own_arena):
        way_out = "a plan in the file may help, which `memplan convert` writes"
        return Written(
            reader.data, (f"{_AS_GIVEN}: {RUNTIME} takes {own_arena}, and in the new order {arena}; {way_out}",)
        )
    return Written(file.data, (*left_out, f"{RUNTIME}'s whole arena takes {arena}, {own_arena.used:,} as given"), arena)


def c_files(result: CascadeAnswer, source: OperationGraph, name: str) -> Mapping[str, bytes]:
    """Return the last point of a result as files of C by their names, which begin with `name`; raises InputError."""
    if result.conventions.pools:
        raise OptionError("--pool: must not be given for C, which has one arena")
    return write_cascade(result.points[-1], source, name, result.conventions.alignment)


def model_in_parts(reader: Reader, graph: OperationGraph, options: CapabilityOptions) -> RewritableModel:
    """Return the model that was read as one that can be written in parts; raises InputError where it cannot."""
    assert isinstance(options, CascadeOptions)
    if reader.imported is None:
        raise OptionError("output: must be given for a model, got a graph or a program")
    is_streamed = "streamed" in (options.input, options.output)
    if is_streamed or options.overlap == "sliding" or options.brick > 1 or options.pools:
        raise OptionError(
            "output: must not be given with --input, --output, --overlap, --brick or --pool: no runtime has them"
        )
    return rewritable(reader.data, reader.name, graph, reader.options)


def written_in_parts(model: RewritableModel, result: CascadeAnswer, data: bytes, scratch: Mapping[str, int]) -> Written:
    """Return the form of a cascade's points whose arena is the smallest as a file, if it is smaller than as given."""
    rules = rules_of(data)
    assert rules is not None, "a system whose models are written in parts has an arena"
    own_arena = rules.arena_of(data, scratch)
    forms = arenas_in_parts(model, result.points, own_arena, partial(rules.arena_of, scratch=scratch))
    best = min(forms, key=lambda row: row[0].used, default=None)
    if best is None or not best[0].is_smaller(own_arena):
        least = "no form has fewer" if best is None else f"{best[0]} in parts"
        return Written(None, (f"{NOT_WRITTEN}: {RUNTIME}'s whole arena takes {own_arena}, {least}",))
    arena, form, written = best
    needs = f"{len(form.found.steps)} operations on parts, {form.point.macs_ratio - 1:+.2%} MACs"
    return Written(written, (f"{needs}; {RUNTIME}'s whole arena takes {arena}, {own_arena.used:,} as given",), arena)


def arenas_in_parts(
    model: RewritableModel,
    points: Sequence[CascadePoint],
    given: ModelArena,
    measured: Callable[[bytes], ModelArena],
    most: int = _MOST_WRITTEN,
) -> Iterator[tuple[ModelArena, Rewriting, bytes]]:
    """Yield the forms of points that may take less than the given arena, with theirs, the most promising first.

    The price of operations and tensors that ranks them is an estimate, so several are written and measured by the
    runtime's rules; those that cannot be written are left out. Raises OperationsError where none can be.
    """
    refused: OperationsError | None = None
    forms = sorted(rewritings(points, given.used), key=lambda form: form.needed)
    for form in [form for form in forms if form.peak < given.used][:most]:
        try:
            written = model.write(form.found)
        except OperationsError as error:  # another form cuts elsewhere
            refused = refused or error
            continue
        yield measured(written), form, written
        most = 0
    if refused is not None and most:
        raise refused
