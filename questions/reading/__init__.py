"""Reading of a question's files (problems, models, graphs, operations, plans), with one set of reading options."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any, TypeVar
from warnings import warn

from pydantic import Field, ValidationError

from memplan.planner.errors import FormatError, InputError, OptionError, sentences_of_options
from memplan.planner.extensions import Hook
from memplan.planner.foreign import reading as importers
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import import_reader as import_reader
from memplan.planner.formats import memplan_json
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.finding import REFUSED, Finding
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.sizes import UNITS
from memplan.questions.reading.adapting import ProblemOptions, adapt_problem, align_problem, persistent_buffers

if TYPE_CHECKING:
    from memplan.planner.model.application import Application
    from memplan.planner.model.intervals import Interval

M = TypeVar("M")
A = TypeVar("A")
NONE = "none"
"""The value of option `together` that forbids models to run at the same time."""
OF_PLANS = ("plan", "keep", "baseline")
"""The names of the inputs that are plans, which record how their problem was read."""


class ReadOptions(ProblemOptions, ModelOptions):
    """The options for reading a problem: adaptations, the meaning of interval ends, and how a model is read."""

    inclusive: bool | None = Field(
        None, description="A buffer is still alive at its end. By default, the column name in a CSV decides this."
    )

    @property
    def interval(self) -> "Interval | None":
        """The meaning of ends: `closed` or `half-open`; None if only the file can tell."""
        return None if self.inclusive is None else "closed" if self.inclusive else "half-open"


def refuse_files(files: Sequence[str], together: Sequence[str], persistent: Sequence[str] = ()) -> None:
    """Raise OptionError for several files without `together`, and for a single file with `together` or `persistent`."""
    if len(files) == 1 and persistent:
        raise OptionError(f"persistent: applies only with several files, got {files[0]}", way="leave it out")
    if len(files) == 1 and together:
        raise OptionError(f"together: applies only with several files, got {files[0]}", way="leave it out")
    if (unit := next((each for each in files[1:] if each in UNITS and not Path(each).exists()), None)) is not None:
        raise OptionError(f"{unit}: must be written after its number without a space, as 64{unit}")
    if (word := next((each for each in files[1:] if each.isalpha() and not Path(each).exists()), None)) is not None:
        raise OptionError(f"{word}: no such file or directory (write a value with a space in quotes, as '10 s')")
    if len(files) > 1 and not together:
        line = f"`memplan {join(['plan', *files, '--together', NONE])}`"
        raise OptionError(
            f"together: must be given for several files, got {', '.join(files)}: {line}, or"
            " --together with the models that may run at the same time; an application in JSON can state more. With"
            " -o FOLDER/ and without --together, each file is planned separately"
        )


def names_of(paths: Sequence[str]) -> list[str]:
    """Return a unique name for each file: its name without folder and suffix, and a number if that name is taken."""
    names: list[str] = []
    for path in paths:
        stem = Path(path).stem
        names.append(
            next(each for k in range(1, len(names) + 2) if (each := stem if k == 1 else f"{stem}#{k}") not in names)
        )
    return names


def join_problems(
    problems: Sequence[tuple[str, Problem, Sequence[str]]], together: Sequence[str], persistent: Sequence[str] = ()
) -> "Application":
    """Return several problems as an application whose models are named after their files; raises InputError.

    Each problem is given with its file and the ids of its buffers that keep their bytes between runs. `together` lists
    groups of models that may run at the same time, such as `asr,kws`, or is `none`. `persistent` names further buffers
    that keep their bytes, as `model/id`.
    """
    from memplan.planner.model.application import Application, qualified_name

    names = names_of([path for path, _, _ in problems])
    models = {name: problem for name, (_, problem, _) in zip(names, problems, strict=True)}
    groups = (text for text in together if text != NONE)
    kept = [qualified_name(name, each) for name, (_, _, ids) in zip(names, problems, strict=True) for each in ids]
    together_ = tuple(tuple(text.split(",")) for text in groups)
    return Application(models=models, together=together_, persistent=(*kept, *persistent))


def validate_options(model: type[M], given: Mapping[str, Any]) -> M:
    """Return the validated options as a model; raises OptionError, which lists every wrong field."""
    if not given:  # Building a validator is slow, and default values need none.
        return model.model_construct()  # type: ignore[attr-defined,no-any-return]
    for name in given:
        about = model.model_fields.get(name)  # type: ignore[attr-defined]
        if about is not None and about.deprecated:
            warn(f"{name}: is deprecated {about.deprecation_message}", DeprecationWarning, stacklevel=2)
    try:
        return model.model_validate(dict(given))  # type: ignore[attr-defined,no-any-return]
    except ValidationError as error:
        raise OptionError(*sentences_of_options(error, model.model_fields)) from error  # type: ignore[attr-defined]


_read_graph_problem: "Hook[[Reader, bytes, str | None], Problem | None]" = Hook("read-graph-problem")
_AS_IN_FILE = ReadOptions.model_construct()
"""The default reading options, which leave a file's problem unchanged."""


@dataclass(eq=False, repr=False)
class Reader:
    """A reader of one question's files, which also records facts about them.

    `imported` is the imported model, read from the file `name` with the bytes `data`; `warnings` are findings of
    readers. `own_plan` is a plan in the same file as its problem. `problem_of_plan` is the problem that a plan
    determines, because it is in the plan's file or a runtime printed it with the plan. `own_graph` is a graph of
    operations, and `application` the combination of several files. `recorded` has the options that a plan recorded and
    the caller did not give, as JSON; `plain` are the options without these, and `plan_hash` is the plan's problem.
    """

    options: ReadOptions = _AS_IN_FILE
    imported: ImportedProblem | None = None
    data: bytes = b""
    name: str | None = None
    warnings: list[Finding] = field(default_factory=list)
    own_plan: Plan | None = None
    problem_of_plan: Problem | None = None
    own_graph: Any = None
    application: "Application | None" = None
    recorded: Mapping[str, Any] = field(default_factory=dict)
    plain: ReadOptions = _AS_IN_FILE
    plan_hash: str | None = None

    @property
    def file_name(self) -> str | None:
        """The file's name without its folder; None for standard input."""
        return None if self.name is None or self.name == "-" else Path(self.name).name

    def problem(self, data: bytes, name: str | None = None) -> Problem:
        """Return the problem in a file, which may also be a model or operations; raises InputError."""
        is_model = importers.detect(data, name) is not None
        if self.recorded and not is_model and (problem := self._problem_read_plainly(data, name)) is not None:
            return problem
        if self.options.moves is not None and _read_graph_problem.is_there:
            of_graph = _read_graph_problem(self, data, name)
            if of_graph is not None:
                return of_graph
        self.data, self.name = data, name
        if not is_model:
            if self.options.model_fields_set:
                self.options.refuse_for_models()
        elif self.options.inclusive is not None:
            raise OptionError(
                "inclusive, half-open: apply only to a problem, because a model's lifetimes are known: leave them out"
            )
        problem, self.imported = importers.read_problem(data, name, self.options, self.options.interval)
        if self.imported is not None:
            self.warnings += self.imported.warnings
        elif self.options.inclusive is None:
            from memplan.planner.lint.problems import inclusive_end_findings

            self.warnings += inclusive_end_findings(problem, data)
        # An importer has aligned a model's buffers already, so align only other problems.
        if not is_model and self.options.alignment is not None:
            problem = align_problem(problem, self.options.alignment)
        if self.options.model_fields_set.isdisjoint(ProblemOptions.model_fields):
            found = problem
        else:
            found = adapt_problem(problem, self.imported, self.options)
        if self.imported is not None:
            self.warnings += idle_findings(self.options, self.imported, problem, found)
        # Dumping options needs the complete model, which is slow to build, so skip dumping if no option is set.
        said = self.options.model_fields_set and {
            name: value
            for name, value in self.options.model_dump(mode="json", exclude_defaults=True).items()
            if name in ReadOptions.model_fields
        }
        return found.model_copy(update={"read_with": {**(found.read_with or {}), **said}}) if said else found

    def ids_of_state(self, problem: Problem) -> tuple[str, ...]:
        """Return the ids of the buffers of the problem just read that keep their bytes between two runs."""
        return persistent_buffers(problem, self.imported, self.options)

    def take_record(self, plan: object) -> None:
        """Read further problems with the options that a plan recorded, except for options that the caller gave.

        `plan` is a plan, or its JSON, also as bytes; for any other value, nothing happens, because the reader of that
        value reports the fault.
        """
        if isinstance(plan, bytes):
            with suppress(InputError):
                plan = memplan_json.parse(plan) if b'"read_with"' in plan else None
        if isinstance(plan, Mapping):
            plan = plan.get("plan", plan)
        names = ("read_with", "problem_hash")
        fields = plan if isinstance(plan, Mapping) else {name: getattr(plan, name, None) for name in names}
        if isinstance(record := fields.get("read_with"), Mapping):
            said = self.options.model_fields_set
            self.recorded = {name: value for name, value in record.items() if name not in said}
            self.plain, self.plan_hash = self.options, fields.get("problem_hash")
            unsaid = validate_options(ReadOptions, self.recorded)
            changes = {name: getattr(unsaid, name) for name in unsaid.model_fields_set}
            self.options = self.options.model_copy(update=changes)

    def _problem_read_plainly(self, data: bytes, name: str | None) -> Problem | None:
        """Return the problem of a file to which some recorded options are applied already, with the rest; else None."""
        remembered, recorded = self.options, self.recorded
        self.options, self.recorded = self.plain, {}
        with suppress(InputError):  # Without the plan's options, the file's sizes may be unknown.
            problem = self.problem(data, name)
            applied = problem.read_with or {}
            rest = {name for name, value in recorded.items() if applied.get(name) != value}
            if problem_hash(problem) == self.plan_hash or not rest:
                return problem
            if rest != recorded.keys():
                self.options = self.plain.model_copy(update={name: getattr(remembered, name) for name in rest})
                self.warnings = []
                return self.problem(data, name)
        self.options, self.recorded, self.warnings = remembered, recorded, []
        return None

    def plan(self, data: bytes, name: str | None, problem: Problem) -> Plan:
        """Return a problem's plan from a file, which may be the file of the problem; raises InputError.

        A plan printed by a runtime requires its model's file; the problem is then replaced by one with the printed
        sizes.
        """
        from memplan.questions.reading.plan_files import read_plan

        if data == self.data:
            return self.plan_inside(problem)
        if (of := importers.model_of_plan(data)) is None:
            return read_plan(data, problem, name, self.options)
        if importers.detect(self.data, self.name) != of:
            way = f"give that model: `memplan verify MODEL.{of} FILE`"
            raise FormatError(f"must be a plan of the given problem file, got a plan of a model of {of}; {way}")
        imported = importers.read_plan_as(data, self.data, self.options)
        self.problem_of_plan = adapt_problem(imported.problem, None, self.options)
        assert imported.own_plan is not None  # The reader accepts only files that contain a plan.
        self.warnings += imported.warnings
        return imported.own_plan

    def plan_inside(self, problem: Problem) -> Plan:
        """Return the plan inside the problem's file; raises FormatError if the file has no plan."""
        from memplan.questions.reading.plan_files import (
            closest_reading,
            pins_as_plan,
            plan_beside,
            refuse_unseen,
            remove_pins,
        )

        if (imported := self.imported) is not None:
            if self.options.in_place:
                raise OptionError.from_rule(
                    "in_place", "must not be given for a plan inside its model", way="leave it out"
                )
            own = closest_reading(imported, self.data, self.name, self.options)
            plan, self.problem_of_plan = own.own_plan, adapt_problem(own.solved_problem, own, self.options)
            refuse_unseen(own, self.problem_of_plan)
        elif (
            plan := plan_beside(memplan_json.parse(self.data) if memplan_json.recognises(self.data) else None)
        ) is None:
            plan, self.problem_of_plan = pins_as_plan(problem), remove_pins(problem)
            message = "all buffers are pinned, so their offsets are read as the plan instead of as pins"
            self.warnings += [] if plan is None else [Finding("all-pinned", message, ())]
        if plan is not None:
            return plan
        peak = None if imported is None else imported.own_peak
        note = "" if peak is None else f" but only the peak of its own plan, {peak} bytes (see compare)"
        rule = "plan: must be a separate file, because the problem's file has no offsets"
        raise FormatError(f"{rule}{note}: `memplan plan --output plan.json` makes one")


NO_OVERWRITING = "in place: no operation here may write over an input, so the option has no effect"
NO_SPARING = "spare: no operation writes over these buffers in any case, so the option has no effect"
TARGET_NOTE = (
    "target: changes only TFLite Micro's arena, which `memplan check` and files of `convert` and `cascade` show"
)


def idle_findings(options: ReadOptions, read: ImportedProblem, before: Problem, after: Problem) -> list[Finding]:
    """Return a finding for each reading option that has no effect on this file."""
    idle = {
        NO_OVERWRITING: options.in_place and len(after.buffers.aliases) == len(before.buffers.aliases),
        "weights: the file has no constants, so the option has no effect": options.weights is not None
        and not read.constants,
    }
    return [Finding("no-effect", sentence, ()) for sentence, is_so in idle.items() if is_so]


def add_reading_facts(answer: A, reader: Reader) -> A:
    """Return an answer with the facts that its reader could not determine."""
    changes: dict[str, Any] = {}
    if reader.options.target is not None and not hasattr(answer, "arena"):
        if refused := next((warning for warning in reader.warnings if warning.rule == REFUSED), None):
            raise FormatError(f"model: {refused.message}")
        if reader.options.kernels in (None, "reference"):  # Other kernels have scratch, which changes the problem.
            reader.warnings.append(Finding("no-effect", TARGET_NOTE, ()))
    unknown = tuple(warning.message for warning in reader.warnings if warning.is_unknown)
    if unknown and hasattr(answer, "unknown"):
        changes["unknown"] = unknown
    return answer.model_copy(update=changes) if changes else answer  # type: ignore[attr-defined]
