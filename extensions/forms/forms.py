"""The forms (rewritten versions) of a model that run an unrolled cascade, in the order of their estimated arenas.

An unrolled cascade runs operations on parts of tensors, one after the other, without loops.
"""

from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from memplan.extensions.cascade.access.access_graph import AccessGraph, barrier_of
from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.extensions.cascade.answer import CascadePoint
from memplan.extensions.cascade.regions.counts import macs_of, runs_of
from memplan.extensions.cascade.regions.regions import Cascade, CascadeRegion, Span, Stripes, hull
from memplan.extensions.cascade.writing import FormInParts
from memplan.extensions.forms.in_parts import TfliteRewriting
from memplan.extensions.forms.unrolled import UnrolledCascade, unroll
from memplan.planner.errors import OperationsError
from memplan.planner.foreign.arena import ModelArena
from memplan.planner.foreign.model_options import ModelOptions
from memplan.programs.operations.graph import OperationGraph

OPERATION_BYTES = 200
"""The arena bytes that TFLite Micro uses for the bookkeeping of one operator, as measured."""
_VALUE_BYTES = 24
_CHANNEL_BYTES = 8
"""The arena bytes that a kernel uses for the quantization of one output channel."""
_TOGETHER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""The numbers of consecutive steps to merge into one; more merging means fewer operators on larger parts."""


@dataclass(frozen=True)
class RewritableModel:
    """A model that can be rewritten: the rows and columns that operations read, and a function that writes a form."""

    access: AccessGraph
    write: Callable[[UnrolledCascade], bytes]

    def forms(
        self, points: Sequence[CascadePoint], given: ModelArena, measured: Callable[[bytes], ModelArena], most: int
    ) -> Iterator[FormInParts]:
        """Yield rewritten versions of the model for `points`; see `memplan.extensions.cascade.writing.ModelInParts`.

        The estimate that ranks forms is inexact, so up to `most` forms for each number of multiplications are written,
        and `measured` computes their arenas by the runtime's rules. Forms that cannot be written are omitted. A limit
        on multiplications only removes forms, and does not change the others. Raises OperationsError if no form can be
        written.
        """
        refused: OperationsError | None = None
        for form in _promising_forms(
            [form for form in unrolled_forms(points, given.used) if form.peak < given.used], most
        ):
            try:
                written = self.write(form.found)
            # The writer refuses to split some operators, but another form may not split them, so try the next form.
            except OperationsError as error:
                refused = refused or error
                continue
            ratio = form.macs / self.access.macs if self.access.macs else 1.0
            yield FormInParts(written, measured(written), ratio, len(form.found.steps), form.peak)
            most = 0
        if refused is not None and most:
            raise refused


def _promising_forms(forms: "Sequence[Rewriting]", most: int) -> "list[Rewriting]":
    """Return the promising forms (rewritten models), in increasing order of bytes (`needed`).

    A form is promising if fewer than `most` other forms beat it, by fewer bytes without more multiplications (`macs`).
    """
    best, chosen = list[int](), list[Rewriting]()
    for form in sorted(forms, key=lambda form: (form.macs, form.needed)):
        if len(best) < most or form.needed < best[most - 1]:
            insort(best, form.needed)
            chosen.append(form)
    return sorted(chosen, key=lambda form: form.needed)


def arena_estimate(found: UnrolledCascade) -> int:
    """Estimate the arena in bytes that TFLite Micro needs for an unrolled cascade: its live peak plus bookkeeping."""
    graph = found.graph
    made = [t for step in found.steps if step.kind == "run" for t in graph.operations[step.operation].outputs]
    channels = sum(graph.tensors[tensor].pixel for tensor in made)
    size = OPERATION_BYTES * len(found.steps) + _VALUE_BYTES * len(found.values) + _CHANNEL_BYTES * channels
    return found.live_peak + size


def rewritable_model(data: bytes, graph: OperationGraph, options: ModelOptions | None = None) -> RewritableModel:
    """Return a rewritable model from its file; operations that cannot be written in parts become barriers."""
    how = TfliteRewriting(data, graph, options)
    access = access_graph(graph)
    rows = tuple(
        row if row.role == "striped" and how.runs_in_parts(v) else barrier_of(access, v, "is not written in parts")
        for v, row in enumerate(access.operations)
    )
    return RewritableModel(replace(access, operations=rows, is_coarse=True), how.write)


@dataclass(frozen=True)
class Rewriting:
    """A cascade unrolled into a straight-line program (`found`), with its live peak in bytes (`peak`).

    `needed` is the peak plus TFLite Micro's bookkeeping in bytes. `macs` is the number of multiplications; merged steps
    recompute fewer rows, so it may be smaller than that of the cascade.
    """

    peak: int
    found: UnrolledCascade
    needed: int
    macs: int


def unrolled_forms(points: Sequence[CascadePoint], most: float = inf) -> Iterator[Rewriting]:
    """Yield the unrolled versions of each cascade in `points`, with steps merged to different degrees.

    All versions are tried because the memory of a cascade run as a loop is a bad estimate for its unrolled form: joins
    copy parts, inputs are freed part by part, and merged steps share workspaces. A version whose operators alone take
    more than `most` bytes is skipped. If no cascade can be unrolled, the error of the last attempt is raised.
    """
    last: OperationsError | None = OperationsError("points: must contain a cascade that can be unrolled")
    seen = set[object]()
    for point in points:
        for cascade in coarser_cascades(point.cascade):
            # Points that differ only in step size may become equal once steps are merged, so skip repeated forms.
            if (form := _form_key(cascade)) in seen:
                continue
            seen.add(form)
            if OPERATION_BYTES * runs_of(cascade) > most:
                last = None
                continue
            try:
                steps = _unroll_cascade(cascade)
            except OperationsError as error:
                last = None if last is None else error
                continue
            last = None
            yield Rewriting(steps.live_peak, steps, arena_estimate(steps), macs_of(cascade))
    if last is not None:
        raise last


def _form_key(cascade: Cascade) -> object:
    regions = ((region.ops, region.kind, region.alternative, *region.ranges.items()) for region in cascade.regions)
    return cascade.graph.origins, cascade.graph.operations, tuple(regions)


def _unroll_cascade(cascade: Cascade) -> UnrolledCascade:
    """Unroll a cascade, and undo its regions that are better run layer by layer.

    Such a region has a joined output that causes the peak. A tensor that is joined before an operation that runs whole
    needs its bytes twice: in parts and joined.
    """
    steps = unroll(cascade)
    live = steps.live_bytes()
    while (at := live.index(max(live))) and at <= len(steps.steps) and steps.steps[at - 1].kind == "join":
        maker = steps.graph.maker[steps.values[steps.steps[at - 1].outputs[0]].tensor]
        regions = list[CascadeRegion]()
        for region in cascade.regions:
            is_apart = maker is not None and region.first_operation <= maker < region.end
            alone = (CascadeRegion.whole_region(0, v) for v in region.ops)
            regions += alone if is_apart else (region,)
        cascade = replace(cascade, regions=tuple(regions))
        other = unroll(cascade)
        if max(other.live_bytes()) >= max(live):
            break
        steps, live = other, other.live_bytes()
    return steps


def coarser_cascades(cascade: Cascade) -> Iterator[Cascade]:
    """Yield versions of a cascade with fewer steps: groups of steps along rows, and all along columns, are merged.

    The cascade itself comes last. Versions with the fewest runs of operators come first, so a caller can stop once the
    operators alone cost too much.
    """
    steps = [region.steps for region in cascade.regions]
    most_rows, most_columns = (max((row[axis] for row in steps), default=1) for axis in (0, 1))
    for columns in sorted({1, most_columns}, reverse=True):
        for rows in reversed(_TOGETHER):
            # Merging all steps of a region gives back the layers of the given model, so skip that number of steps.
            if rows < most_rows or rows == columns == 1:
                yield replace(cascade, regions=tuple(_merge_steps(region, rows, columns) for region in cascade.regions))


def _merge_steps(region: CascadeRegion, rows: int, columns: int) -> CascadeRegion:
    if region.kind == "whole":
        return region
    return region.remake(
        {
            v: Stripes(rows=_join_spans(row.rows, rows), columns=_join_spans(row.columns, columns))
            for v, row in region.ranges.items()
        }
    )


def _join_spans(spans: Sequence[Span], count: int) -> tuple[Span, ...]:
    return tuple(hull(spans[k : k + count]) for k in range(0, len(spans), count))
