"""Search for the form (rewritten version) of a model with the smallest arena.

Forms differ in the order of operators, in operators split into parts, and in a plan inside the file.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from memplan.extensions.cascade.cascade import CascadeOptions, cascade
from memplan.extensions.cascade.writing import reordered_model, rewritable_model
from memplan.extensions.files.convert.answer import Converted, Deployment, WrittenFile
from memplan.extensions.files.convert.options import TFLITE, ConvertOptions
from memplan.extensions.files.convert.source import warnings_of
from memplan.planner.errors import InputError
from memplan.planner.foreign.arena import ModelArena, scratch_flags
from memplan.planner.foreign.layout import lay_out
from memplan.planner.foreign.reading import read_model
from memplan.planner.foreign.writing import export
from memplan.programs.models.model_graph import read_model_graph
from memplan.questions.check.arena import RuntimeArena
from memplan.questions.question import Control
from memplan.runtimes.tflite.arena import compare_forms, form_options
from memplan.runtimes.tflite.interpreter import LIMIT_S, refusal_reason
from memplan.runtimes.tflite.tflm_arena import ALIGNMENT
from memplan.runtimes.tflite.tflm_tail import arena_of, host_options, write_c_model
from memplan.solvers.portfolio.solve import solve

if TYPE_CHECKING:
    from memplan.programs.operations.graph import OperationGraph

_SHARE = 0.25
"""The fraction of the remaining time that one search may use; searches are for an order, for cascades and for plans."""
_FORMS = 2
"""The number of forms (rewritten models) per cascade point; they differ in the number of merged steps."""


@dataclass(frozen=True)
class DeviceForm:
    """A form (rewritten version) of a model: its file, its arena, and whether the file contains a plan.

    `macs_ratio` is the form's number of multiplications divided by the original model's.
    """

    data: bytes
    arena: ModelArena
    kind: Literal["given", "ordered", "cascade"]
    planned: bool = False
    macs_ratio: float = 1.0


class FormSearch:
    """The search for the form of a model with the smallest arena, beginning without extra multiplications."""

    def __init__(self, data: bytes, options: ConvertOptions, running: Control) -> None:
        """Start with the given file as the only form, and without notes."""
        self.options, self.running, self.source = options, running, data
        self.given = DeviceForm(data, self._arena(data), "given")
        self.notes: list[str] = []

    def run(self) -> DeviceForm:
        """Return the best form (rewritten model) found; write to `notes` why some kinds of forms are impossible."""
        graph = read_model_graph(self.given.data, None, self.options.model_copy(update={"alignment": None})).graph
        best = self._smaller_form(self.given, self._planned_form(self.given))
        with self._record_message("order"):
            moved = reordered_model(self.given.data, None, graph, self.running.limit_to(self._share_s()))
            if moved is not None:
                form = DeviceForm(moved, self._arena(moved), "ordered")
                best = self._smaller_form(best, form, self._planned_form(form))
        if not self._fits(best):
            with self._record_message("cascade"):
                best = self._best_form_in_parts(graph, best)
        return best

    def _best_form_in_parts(self, graph: "OperationGraph", best: DeviceForm) -> DeviceForm:
        """Return the smallest split form (rewritten model) found, or `best` if none is smaller.

        Cascades with the fewest multiplications come first, until a form of a cascade fits the option `fit`.
        """
        model = rewritable_model(self.given.data, None, graph)
        wanted = CascadeOptions(alignment=ALIGNMENT, macs=self.options.macs, time_limit_s=self._share_s())
        answer = cascade(model.access, wanted, Control(cancelled=self.running.cancelled))
        limit = replace(best.arena, tail=0, head=max(best.arena.used, self.options.fit or 0))
        for point in sorted(answer.points, key=lambda point: point.macs):
            if self.running.is_over or self._fits(best):
                break
            # An error of one point does not concern other points, so record its message and try the other points.
            with self._record_message("cascade"):
                for form in model.forms([point], limit, self._arena, _FORMS):
                    # No plan needs less than the live peak, so skip forms whose live peak is already too large.
                    if form.arena.tail + form.peak < best.arena.used:
                        made = DeviceForm(form.data, form.arena, "cascade", macs_ratio=form.macs_ratio)
                        best = self._smaller_form(best, made, self._planned_form(made))
        return best

    def _smaller_form(self, best: DeviceForm, *others: DeviceForm | None) -> DeviceForm:
        for form in others:
            if form is not None and form.arena.is_smaller(best.arena):
                best = form
        return best

    def _fits(self, form: DeviceForm) -> bool:
        return self.options.fit is not None and form.arena.least <= self.options.fit

    def _planned_form(self, form: DeviceForm) -> DeviceForm | None:
        """Return a form (rewritten model) with a plan in its file; None if impossible, or if the arena would grow."""
        try:
            chosen = form_options(self.source, form.data, self.options)
            problem = read_model(form.data, options=chosen).problem
            plan = solve(problem, time_limit_s=self._share_s(), control=self.running.solve_control())
            data = export(TFLITE, lay_out(problem, plan, form.data, chosen), "model")[""]
        except InputError:
            return None
        return replace(form, data=data, arena=self._arena(data), planned=True)

    def _arena(self, data: bytes) -> ModelArena:
        return arena_of(data, form_options(self.source, data, self.options))

    def _share_s(self) -> float:
        return max(0.05, _SHARE * self.running.remaining_s)

    @contextmanager
    def _record_message(self, what: str) -> Iterator[None]:
        """Catch an InputError in the `with` block, and note its message once, after `what` (the kind of form)."""
        try:
            yield
        except InputError as error:
            if (sentence := f"{what}: {error.sentences[0]}") not in self.notes:
                self.notes.append(sentence)


def deploy(file: bytes, options: ConvertOptions, running: Control) -> Converted:
    """Return the best form of a model for TFLite Micro, with a report about its arena and about a trial run.

    If the runtime is installed, the outputs of the form are compared with those of the given model.
    """
    search = FormSearch(file, options, running)
    best, given = search.run(), search.given
    limit_s = min(LIMIT_S, running.remaining_s / 2)
    runs, measured = compare_forms(given.data, best.data, options, limit_s)
    if runs is False:
        search.notes.append(f"{best.kind}: {measured}")
        best, (runs, measured) = given, compare_forms(given.data, given.data, options, limit_s)
    refused, files = None, {"": best.data}
    if options.c_array and (unknown := best.arena.unknown):
        way = scratch_flags(unknown, "SIZE")
        refused = f"the memory of the kernels of {', '.join(unknown)} is unknown{way and f': state it with {way}'}"
    elif options.c_array and not runs:
        chosen = host_options(form_options(file, best.data, options))
        refused = refusal_reason(best.data, arena_of(best.data, chosen).least, limit_s)
    if options.c_array and refused is None:
        stem = options.prefix or PurePath(options.name or "model").stem
        files |= write_c_model(best.data, best.arena, stem, options.section)
    return Converted(
        to=TFLITE,
        format=TFLITE,
        warnings=warnings_of(read_model(file, options=options)),
        files=tuple(WrittenFile.from_data(suffix, data) for suffix, data in files.items()),
        deployment=Deployment(
            fits=None if options.fit is None else best.arena.least <= options.fit,
            fit=options.fit,
            form=best.kind,
            planned=best.planned,
            macs_ratio=round(best.macs_ratio, 6),
            notes=tuple(search.notes),
            runs=runs,
            measured=measured,
            refused=refused,
        ),
        arena=RuntimeArena.from_fields(best.arena),
        given=RuntimeArena.from_fields(given.arena),
    )
