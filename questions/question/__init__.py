"""Questions: each is a Python function of inputs and options, from which its command and HTTP call are generated."""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, Self, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, Field
from pydantic_core import to_json

from memplan.planner.errors import InvalidPlanError, Option, OptionError, excerpt
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.field_docs import DescribedFields
from memplan.planner.model.moving import refuse_moves
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Value
from memplan.questions.inputs.extent import Extent
from memplan.questions.inputs.values import Input, InputValues, plan_refuted
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, MAX_TIME_LIMIT_S
from memplan.solvers.search.control import NEVER as NEVER
from memplan.solvers.search.control import Control as Control
from memplan.solvers.search.control import Deadline as Deadline
from memplan.solvers.search.control import ignore_report as ignore_report

Seconds = Annotated[float, Field(gt=0, le=MAX_TIME_LIMIT_S, allow_inf_nan=False)]
A = TypeVar("A")


def _list_options(names: tuple[str, ...]) -> Iterator[str | Option]:
    for k, name in enumerate(names):
        yield from (" or ",) * bool(k)
        yield Option(name)


class QuestionOptions(Value):
    """The options that all questions have.

    `needs` maps an option that has no effect alone to the options and inputs of which one must also be given.
    """

    error = OptionError
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})

    time_limit_s: Seconds = Field(
        DEFAULT_TIME_LIMIT_S, description="The time for the whole call, from reading the files to the answer."
    )

    @property
    def counts_work(self) -> bool:
        """True if the search counts work instead of time, so that its answer is the same on every machine."""
        return "deterministic" in type(self).model_fields and bool(getattr(self, "deterministic", False))

    @property
    def can_end(self) -> bool:
        """True if a search may be ended early, with its best answer so far, because other requests wait."""
        return not self.counts_work

    def deadline(self, started: float | None = None) -> Deadline:
        """Return the deadline of a call that arrived at `started` (default: now); infinite if work is counted."""
        return Deadline.from_limit(inf if self.counts_work else self.time_limit_s, started)

    def refuse_idle(self, given: Collection[str]) -> None:
        """Raise OptionError for an option whose required option or input is missing; `given` names the inputs."""
        for name, others in self.needs.items() if self.model_fields_set else ():
            if self._is_changed(name) and not any(other in given or self._is_changed(other) for other in others):
                rule = ("applies only with ", *_list_options(others), f", got {excerpt(getattr(self, name))}")
                raise OptionError((Option(name), ": ", *rule), way="give both, or leave it out")

    def _is_changed(self, name: str) -> bool:
        about = type(self).model_fields.get(name)
        return about is not None and bool(getattr(self, name) != about.get_default(call_default_factory=True))

    def fields(self, *names: str) -> dict[str, Any]:
        """Return the values of the named options, by name."""
        return {name: getattr(self, name) for name in names}


class SearchOptions(QuestionOptions):
    """The options of questions that search for a plan or a proof."""

    deterministic: bool = Field(
        False,
        description="Give the same answer on machines of the same kind: its work is counted, and no clock ends it.",
    )


class ChartView(NamedTuple):
    """A chart of an answer's `points`: the fields on the x and y axes, the names of the axes, and their units.

    A unit is `bytes` or `number`. `drawn` are fields of the answer that only the chart shows. If a point `is_planned`,
    the page can plan its `sizes`, `alignment` and `changes`.
    """

    x: str
    y: str
    name: tuple[str, str]
    unit: tuple[str, str] = ("bytes", "bytes")
    drawn: tuple[str, ...] = ("points",)
    is_planned: bool = False


class PlanLink(NamedTuple):
    """A link from a plan with one of the `statuses` to a question about that plan.

    `rel` is the relation in the HTTP Link header. `button` is the text of the page's button, which opens the question's
    form with `options`.
    """

    rel: str
    statuses: tuple[str, ...]
    button: str
    options: Mapping[str, Any] = {}


@dataclass(frozen=True, eq=False)
class Question(Generic[A]):
    """A question that memplan answers: `function(*inputs, options, control) -> answer`, and its forms elsewhere.

    Its name, help, and models of options and answer come from the function. An option is declared once, with its range,
    default and description. `lines` converts an answer to text, `exit_status` to the exit status of the command, and
    `status` to the status in lists of jobs; `exits` explains the exit statuses. Of the inputs named in `any_of`, at
    least one must be given. `check` raises InputError for options that do not fit the inputs. `progress` converts a
    progress report to text. A request that `is_brief` needs no worker process. `refutes` verifies an answer, given the
    inputs and `options`, and returns its fault or None. `example` is a JSON body, `view` the chart of an answer with
    points, and `link` the link from plans to the question. Unless it `takes_moves`, buffers of its problem must not
    move.
    """

    function: Callable[..., A]
    inputs: tuple[Input[Any], ...]
    lines: Callable[[A], Iterable[str]]
    example: Mapping[str, Any]
    exit_status: Callable[[A], int] = lambda _: 0
    exits: Mapping[int, str] = field(default_factory=dict)
    status: Callable[[A], str | None] = lambda answer: getattr(answer, "status", None)
    any_of: tuple[str, ...] = ()
    check: Callable[[InputValues, Any], None] | None = None
    progress: Callable[[Mapping[str, Any]], str | None] = lambda _: None
    is_brief: Callable[[Extent, Any], bool] = lambda _extent, _options: False
    refutes: Callable[[InputValues, A], str | None] = plan_refuted
    write: Callable[[A], bytes] = lambda answer: to_json(answer) + b"\n"
    view: ChartView | None = None
    link: PlanLink | None = None
    takes_moves: bool = False

    @property
    def name(self) -> str:
        """The name of the question, which its function, command and HTTP call have in common."""
        return self.function.__name__

    @property
    def path(self) -> str:
        """The path of the question's HTTP call, such as `/v1/plan`."""
        return f"/v1/{self.name}"

    @property
    def help(self) -> str:
        """The question's help text, which is the docstring of its function."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def summary(self) -> str:
        """The first sentence of the help text, cut at a colon and without its full stop."""
        return self.help.partition("\n")[0].partition(":")[0].rstrip(".")

    @cached_property
    def options(self) -> type[QuestionOptions]:
        """The class of the question's options: the class of the default of its function's parameter `options`."""
        return type(inspect.signature(self.function).parameters["options"].default)

    @cached_property
    def answer(self) -> type[A]:
        """The class of the question's answer, which is the return type of its function."""
        answer_type: type[A] = get_type_hints(self.function)["return"]
        return answer_type

    @property
    def answers(self) -> tuple[type[BaseModel], ...]:
        """The classes of possible answers; most questions have exactly one."""
        return get_args(self.answer) or (self.answer,)

    def answer_verified(self, values: InputValues, options: QuestionOptions, control: Control) -> A:
        """Return the verified answer to a question; interim answers are also verified. Raises MemplanError."""
        options.refuse_idle(values)
        self.refuse_values(values)
        if self.check is not None:
            self.check(values, options)
        if (note := control.note) is not None:
            control = replace(control, note=lambda found: note(self.require_valid(values, options, found)))
        return self.require_valid(values, options, self.function(**values, options=options, control=control))

    def refuse_values(self, values: Mapping[str, Any]) -> None:
        """Raise OptionError if buffers of a problem may move, and the question does not take that."""
        for value in () if self.takes_moves else values.values():
            if isinstance(value, Problem):
                refuse_moves(value, f"for {self.name}")

    def require_valid(self, values: InputValues, options: QuestionOptions, answer: A) -> A:
        """Return a verified answer; a wrong answer, which is a fault of memplan, raises InvalidPlanError."""
        is_own = isinstance(answer, self.answers)
        wrong = self.refutes({**values, "options": options}, answer) if is_own else f"gave {type(answer).__name__}"
        if wrong is not None:
            raise InvalidPlanError(f"{self.name}: {wrong}")
        return answer


def remove_default(schema: dict[str, Any]) -> None:
    """Remove `default` from the schema of a field that answers omit at its default value."""
    schema.pop("default", None)


class Answer(DescribedFields, BaseModel):
    """The base class of answers that are pydantic models."""

    model_config = {"frozen": True, "defer_build": True}

    @classmethod
    def from_fields(cls, *found: object, **others: Any) -> Self:
        """Return an answer with the given fields; each other field is copied from the first object that has it."""
        for name in cls.model_fields.keys() - others.keys():
            if (source := next((each for each in found if hasattr(each, name)), None)) is not None:
                others[name] = getattr(source, name)
        return cls(**others)


class AnswerOfFile(Answer):
    """The base class of answers about a file."""

    unknown: tuple[str, ...] = Field((), exclude_if=lambda sentences: not sentences)
    """One sentence for each fact that the file's reader lacks; left out if it lacks none."""


class ForeignOptions(ModelOptions, QuestionOptions):
    """The options of questions about files of other systems; services read such files in a child process."""

    name: Annotated[str, Field(max_length=1000)] | None = Field(
        None, description="The name of the file, which helps if its bytes do not show its format."
    )
