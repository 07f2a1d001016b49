"""The answer of `convert`: facts about the input file, and the output files."""

from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any, Literal, Self

from pydantic import Field
from pydantic_core import to_json

from memplan.planner.errors import count_text, excerpt
from memplan.planner.foreign.program_names import NO_NAMES, ProgramNames
from memplan.planner.foreign.writing import EXPORTERS
from memplan.planner.formats import memplan_json
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.programs.operations.graph import OperationGraph, write_graph
from memplan.programs.operations.operations import Operations
from memplan.questions.check.arena import RuntimeArena
from memplan.questions.plan.answers import headline
from memplan.questions.question import Answer, remove_default

RUNTIME = "TFLite Micro"

_WORD, _IN_PROGRAMS = 4, ("c", "malloc-c", "ld", "armlink")
"""The size in bytes of a word on most processors, and the output formats that are linked into programs."""


class WrittenFile(Answer):
    """A file that was written."""

    suffix: str
    """The end of its name, such as `.h`; empty if the name is complete."""
    text: str | None = Field(None, exclude_if=lambda text: text is None)
    """The content, if it is text."""
    base64: str | None = Field(None, exclude_if=lambda text: text is None)
    """The content in base64, if it is not text."""

    @classmethod
    def from_data(cls, suffix: str, data: bytes) -> Self:
        """Return a file with this suffix and content. Content that is not UTF-8 text is stored in base64."""
        try:
            return cls(suffix=suffix, text=data.decode())
        except UnicodeDecodeError:
            return cls(suffix=suffix, base64=b64encode(data).decode())

    @property
    def data(self) -> bytes:
        """The decoded content of the file, as bytes."""
        return (self.text or "").encode() if self.base64 is None else b64decode(self.base64)


class Deployment(Answer):
    """The form of a model that was chosen for a runtime."""

    fits: bool | None
    """True if the form's arena has at most the requested bytes; null if no size was requested."""
    fit: int | None
    """The requested bytes; null if no size was requested."""
    form: Literal["given", "ordered", "cascade"]
    """The changes to the model: none, another order of its operators, or operators that run in parts."""
    planned: bool
    """True if the file contains an offline plan."""
    macs_ratio: float
    """The multiplications of the form, divided by those of the given model, such as 1.05."""
    notes: tuple[str, ...]
    """The reasons why other forms were impossible."""
    runs: bool | None
    """True if the runtime ran the form with the outputs of the given model; null if nothing was run."""
    measured: str
    """The arena that the runtime reported, or the reason why it reported none, as a part of a sentence."""
    refused: str | None = Field(None, exclude_if=lambda reason: reason is None)
    """The reason why no arena size is written, if the installed runtime refuses the computed size."""


class ReaderWarning(Answer):
    """A warning of the file's reader."""

    rule: str
    """The name of the warning's rule, such as `views-apart`."""
    message: str
    """The warning as a sentence."""


class Converted(Answer):
    """The facts read from a file, and the results of its conversion."""

    to: str
    """The requested target, such as `c`."""
    format: str | None
    """The format of the file, such as `tflite`; null if it was a problem of memplan."""
    own_peak: int | None = None
    """The peak in bytes of the file's own planner; null if unknown."""
    violations: tuple[str, ...] = ()
    """The faults of the plan inside the file, in at most ten sentences."""
    warnings: tuple[ReaderWarning, ...] = ()
    """The warnings of the reader."""
    plan: Plan | None = None
    """The plan inside the file, or the plan made for the written files; null if there is neither."""
    problem: Problem | None = Field(None, exclude_if=lambda problem: problem is None)
    """The problem in the file, if no other target was requested."""
    graph: OperationGraph | None = Field(None, exclude_if=lambda graph: graph is None)
    """The graph of operations in the file, if requested."""
    operations: Operations | None = Field(None, exclude_if=lambda program: program is None)
    """The program in the file, if requested."""
    names: ProgramNames | None = Field(
        NO_NAMES, exclude_if=lambda names: names == NO_NAMES, json_schema_extra=remove_default
    )
    """The names in the program of the file, if requested."""
    files: tuple[WrittenFile, ...] = ()
    """The written files, except JSON."""
    deployment: Deployment | None = Field(None, exclude_if=lambda form: form is None)
    """The form of the model that was chosen for a runtime."""
    arena: RuntimeArena | None = Field(None, exclude_if=lambda arena: arena is None)
    """The runtime's whole arena for the chosen form."""
    given: RuntimeArena | None = Field(None, exclude_if=lambda arena: arena is None)
    """The runtime's whole arena for the given model."""

    @property
    def fits(self) -> bool:
        """False if no plan was found, or if no form of the model fits the requested bytes."""
        if self.deployment is not None:
            return self.deployment.fits is not False and self.deployment.refused is None
        return bool(self.files) or self.to not in EXPORTERS

    @property
    def not_written(self) -> str | None:
        """The reason why no file is written, as a sentence, or None if files are written."""
        if self.fits:
            return None
        if self.deployment is not None and self.deployment.refused is not None:
            return f"the size of the arena would be wrong: {self.deployment.refused}"
        return "there is no plan" if self.deployment is None else _no_fit_sentence(self)

    @property
    def is_as_given(self) -> bool:
        """True if the model is written unchanged, because no other form improves it."""
        return self.deployment is not None and self.deployment.form == "given" and not self.deployment.planned

    @property
    def documents(self) -> dict[str, bytes]:
        """The contents of the problem, plan, graph and operations in memplan's own formats, by field name."""
        its_problem = Problem(buffers=()) if self.problem is None else self.problem
        written = {
            "problem": None if self.problem is None else memplan_json.write_problem(its_problem),
            "plan": None if self.plan is None else memplan_json.write_plan(self.plan, its_problem),
            "graph": None if self.graph is None else write_graph(self.graph),
            "operations": None
            if self.operations is None
            else self.operations.model_dump_json(exclude_defaults=True).encode() + b"\n",
        }
        return {name: document for name, document in written.items() if document is not None}


def _no_fit_sentence(answer: Converted) -> str:
    sentence, form = "no form that was found fits", answer.deployment
    if form is None or form.fit is None or answer.arena is None:
        return sentence
    return f"{sentence}: {answer.arena.least:,} bytes are {answer.arena.least - form.fit:,} too many"


def alignment_notes(problem: Problem, plan: Plan, target: str) -> Iterator[ReaderWarning]:
    """Yield a warning if the output is linked into a program, but an offset is not a multiple of a word (4 bytes).

    There is no warning if any buffer or pool has an alignment.
    """
    steps = {*problem.buffers.alignment.tolist(), *(pool.alignment for pool in problem.pools)}
    is_odd = (plan.placements.offset % _WORD != 0).any()
    if target in _IN_PROGRAMS and steps == {1} and is_odd:
        at = int((plan.placements.offset % _WORD != 0).argmax())
        name, offset = excerpt(plan.placements.ids[at]), int(plan.placements.offset[at])
        rule = f"no buffer has an alignment, and {name} is at {offset}: --alignment {_WORD} aligns all to words"
        yield ReaderWarning(rule="no-alignment", message=rule)


def write(answer: Converted) -> bytes:
    """Return the answer as JSON. Its problem, plan, graph and operations are written in their own JSON formats."""
    documents = answer.documents
    facts: dict[str, Any] = answer.model_dump(exclude=set(documents))
    parts = [b',"%s":%s' % (name.encode(), document.strip()) for name, document in documents.items()]
    return to_json(facts)[:-1] + b"".join(parts) + b"}\n"


def facts(answer: Converted) -> Iterator[str]:
    """Yield the text lines about the input file, its problem, its own plan, and the runtime's arena."""
    if answer.deployment is not None:
        yield from _deployment_lines(answer, answer.deployment)
    elif answer.arena is not None and answer.given is not None:
        gain = "as large as" if answer.arena.used == answer.given.used else "instead of"
        yield f"{RUNTIME}'s whole arena takes {answer.arena.text}, {gain} {answer.given.used:,} without the plan"
    if answer.problem is not None:
        form = answer.format or answer.to
        n_pools = count_text(len(answer.problem.pools), "pool")
        yield f"{form}: {count_text(len(answer.problem.buffers), 'buffer')}, {n_pools}"
    if answer.own_peak is not None:
        offsets = "" if answer.plan else ", whose offsets are not in the file"
        yield f"its own plan takes {answer.own_peak:,} bytes{offsets}"
    yield from (f"its own plan is not valid: {violation}" for violation in answer.violations)
    yield from (f"warning: {warning.rule}: {warning.message}" for warning in answer.warnings)
    if answer.plan is not None and not answer.fits:
        yield headline(answer.plan)


def _deployment_lines(answer: Converted, found: Deployment) -> Iterator[str]:
    """Yield lines of text that say which form of the model was chosen for its runtime, and how large its arena is."""
    forms = {"given": "as given", "ordered": "in another order", "cascade": "with operators in parts"}
    plan = ", with a plan in the file" if found.planned else ""
    yield f"the model {forms[found.form]}{plan}, {found.macs_ratio - 1:+.2%} MACs"
    if answer.arena is not None and answer.given is not None:
        yield f"{RUNTIME}'s arena  {answer.arena.text}"
        yield f"as given             {answer.given.text}"
    if answer.is_as_given:
        yield "nothing is gained by another form"
    if found.fits is not None:
        but = ", but for what is not known" if answer.arena is not None and answer.arena.unknown else ""
        yield f"it fits{but}" if found.fits else _no_fit_sentence(answer)
    yield from (f"not taken: {note}" for note in found.notes)
    if found.refused is not None:
        yield f"not written as C: {found.refused}"


def lines(answer: Converted) -> Iterator[str]:
    """Yield the text lines of the answer: facts about the input, text files in full, and the sizes of other files."""
    yield from facts(answer)
    for file in answer.files:
        if file.suffix:
            yield f"{file.suffix}:"
        yield from [f"{len(file.data):,} bytes"] if file.text is None else file.text.splitlines()
