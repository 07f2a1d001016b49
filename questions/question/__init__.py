"""A question: a Python function with inputs, options and an answer, from which every entrance is generated."""

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
    """Yield the names of options, with "or" between."""
    for k, name in enumerate(names):
        yield from (" or ",) * bool(k)
        yield Option(name)


class QuestionOptions(Value):
    """The options that all questions have.

    `needs`: from an option that says nothing alone to the options and inputs of which one must be given with it.
    """

    error = OptionError
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})

    time_limit_s: Seconds = Field(
        DEFAULT_TIME_LIMIT_S, description="The time for the whole call, from reading the files to the answer."
    )

    @property
    def counts_work(self) -> bool:
        """True if work is counted instead of time, so that the answer is the same on every machine."""
        return "deterministic" in type(self).model_fields and bool(getattr(self, "deterministic", False))

    @property
    def can_end(self) -> bool:
        """True if the best answer so far is right where others wait."""
        return not self.counts_work

    def deadline(self, started: float | None = None) -> Deadline:
        """Return the deadline of a call that came at `started`, or now; infinite if work is counted."""
        return Deadline.from_limit(inf if self.counts_work else self.time_limit_s, started)

    def refuse_idle(self, given: Collection[str]) -> None:
        """Raise OptionError for an option that would change nothing; `given` are the inputs that are there."""
        for name, others in self.needs.items():
            if self._says(name) and not any(other in given or self._says(other) for other in others):
                rule = ("must be given with ", *_list_options(others), f" only, got {excerpt(getattr(self, name))}")
                raise OptionError((Option(name), ": ", *rule), way="leave it out")

    def _says(self, name: str) -> bool:
        """Return True for an option with another value than its default."""
        about = type(self).model_fields.get(name)
        return about is not None and bool(getattr(self, name) != about.get_default(call_default_factory=True))

    def fields(self, *names: str) -> dict[str, Any]:
        """Return the values of the named options, by name."""
        return {name: getattr(self, name) for name in names}


class SearchOptions(QuestionOptions):
    """The options of questions that search."""

    deterministic: bool = Field(
        False,
        description="Give the same answer on every machine: the search counts its work instead of looking at a clock.",
    )


class ChartView(NamedTuple):
    """The chart of an answer that has `points`: the fields for each axis, and the names of the axes.

    A unit is `bytes` or `number`. `drawn` are the fields of the answer that the tables leave out for it.
    The plan of a point that `is_planned` is made by the page, of the point's `sizes`, `alignment` and `changes`.
    """

    x: str
    y: str
    name: tuple[str, str]
    unit: tuple[str, str] = ("bytes", "bytes")
    drawn: tuple[str, ...] = ("points",)
    is_planned: bool = False


class PlanLink(NamedTuple):
    """The link from plans with one of `statuses` to a question about them.

    `rel` is what the answer is to the plan, in the Link header of HTTP; `button` are the words on the page, which opens
    the question's form with `options`.
    """

    rel: str
    statuses: tuple[str, ...]
    button: str
    options: Mapping[str, Any] = {}


@dataclass(frozen=True, eq=False)
class Question(Generic[A]):
    """A question that memplan answers: `function(*inputs, options, control) -> answer`, with all that entrances need.

    Its name, its help and the models of its options and of its answer come from the function; each option is declared
    once, with its range, its default and its sentence. `lines` writes an answer for people, `exit_status` returns the
    exit status of the command, `status` the status in lists of jobs. If `any_of` names inputs, one of them must be
    given. `check` raises InputError for options that cannot go with the inputs. `progress` writes a report of progress
    for people. A request that `is_brief` needs no worker. `refutes` verifies an answer by the question and its
    `options`, as it leaves every entrance, and as it comes from elsewhere: it returns the fault, or None. `example` is
    a body of JSON, `exits` has the meanings of exit statuses, `view` the way in which the page draws an answer with
    points, `link` the plans that lead to the question.
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

    @property
    def name(self) -> str:
        """The name of the command, the call and the function."""
        return self.function.__name__

    @property
    def path(self) -> str:
        """The path of the HTTP call."""
        return f"/v1/{self.name}"

    @property
    def help(self) -> str:
        """The help text: the docstring of its function."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def summary(self) -> str:
        """The first sentence of the help, without its full stop."""
        return self.help.partition("\n")[0].partition(":")[0].rstrip(".")

    @cached_property
    def options(self) -> type[QuestionOptions]:
        """The model of its options, taken from the function's default."""
        return type(inspect.signature(self.function).parameters["options"].default)

    @cached_property
    def answer(self) -> type[A]:
        """The model of its answer: the function's return type."""
        answer_type: type[A] = get_type_hints(self.function)["return"]
        return answer_type

    @property
    def answers(self) -> tuple[type[BaseModel], ...]:
        """The models that an answer may have; most questions have one."""
        return get_args(self.answer) or (self.answer,)

    def answer_verified(self, values: InputValues, options: QuestionOptions, control: Control) -> A:
        """Answer a parsed question, verifying the answer and every note on the way. Raises MemplanError."""
        options.refuse_idle(values)
        if self.check is not None:
            self.check(values, options)
        if (note := control.note) is not None:
            control = replace(control, note=lambda found: note(self.require_valid(values, options, found)))
        return self.require_valid(values, options, self.function(**values, options=options, control=control))

    def require_valid(self, values: InputValues, options: QuestionOptions, answer: A) -> A:
        """Return the answer if nothing refutes it; raises InvalidPlanError otherwise, a fault of memplan."""
        is_own = isinstance(answer, self.answers)
        wrong = self.refutes({**values, "options": options}, answer) if is_own else f"gave {type(answer).__name__}"
        if wrong is not None:
            raise InvalidPlanError(f"{self.name}: {wrong}")
        return answer


def remove_default(schema: dict[str, Any]) -> None:
    """Remove the default from the schema of a field that answers omit when it has its default."""
    schema.pop("default", None)


class Answer(BaseModel):
    """The base class of answers that are pydantic models."""

    model_config = {"frozen": True, "defer_build": True}

    @classmethod
    def from_fields(cls, *found: object, **others: Any) -> Self:
        """Return an answer with the given fields, or else fields of the same name in `found`, the first first."""
        for name in cls.model_fields.keys() - others.keys():
            if (source := next((each for each in found if hasattr(each, name)), None)) is not None:
                others[name] = getattr(source, name)
        return cls(**others)


class AnswerOfFile(Answer):
    """The base class of answers about a file; `unknown` has sentences on what its reader does not know."""

    unknown: tuple[str, ...] = Field((), exclude_if=lambda sentences: not sentences)


class ForeignOptions(ModelOptions, QuestionOptions):
    """The options of questions that read foreign files; services read the files in a separate process."""

    name: Annotated[str, Field(max_length=1000)] | None = Field(
        None, description="The name of the file, which helps if its bytes do not show its format."
    )
