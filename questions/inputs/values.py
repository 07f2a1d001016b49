"""The class `Input`: how an input of a question is read from JSON and files, and written for a service."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

from memplan.planner.errors import InputError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.questions.inputs.extent import Extent, extent_of
from memplan.questions.reading import OF_PLANS, Reader, ReadOptions
from memplan.questions.reading.adapting import ProblemOptions

T = TypeVar("T")
InputValues = Mapping[str, Any]
"""The values of a request's inputs, by input name."""


class Subject(NamedTuple):
    """An input's entry in lists of jobs: a content hash, a name, and the number of buffers."""

    hash: str
    name: str | None
    n_buffers: int


@dataclass(frozen=True, eq=False)
class Input(Generic[T]):
    """An input of a question, called `name` in bodies and in Python; `wire` is its type in the schema.

    Readers, which raise InputError: `from_json` reads a value of a body. `from_file` reads a file's bytes and name,
    given the earlier inputs, and returns None if the file lacks the input. `from_text` reads all values of the option
    that may replace the file. `to_json` writes the value for a service. If the command gets no file for the input,
    `absent` derives the value from other files; otherwise, an input that is not `required` may be omitted.

    The command has a flag for an input that is `named_by_flag`, else an argument. An input that `reads_last` is read
    after all others. `subject` returns the input's entry in lists of jobs. `extent` counts the rows of the JSON before
    it is read, and raises InputError for counts that are too large. `reading` is the class of options for reading the
    file, and `refuse` raises OptionError for options that do not fit the value. An input that `is_foreign` is another
    system's file. The question itself parses this file, and a service does so in a child process. `about` describes the
    field of a body if `help` describes files. `flag` names the command's parameter if an option has the same `name`.
    """

    name: str
    wire: Any
    from_json: Callable[[Any], T]
    to_json: Callable[[T], Any]
    help: str
    from_file: Callable[[Reader, bytes, str, InputValues], T | None] | None = None
    from_text: Callable[[tuple[str, ...], InputValues], T] | None = None
    absent: Callable[[Reader, InputValues], T | None] | None = None
    subject: Callable[[T], Subject] | None = None
    extent: Callable[[Any], Extent] = extent_of
    required: bool = True
    metavar: str | None = None
    takes_bytes: bool = False
    reading: type[ModelOptions] | None = None
    refuse: Callable[[T, InputValues, ProblemOptions], None] | None = None
    named_by_flag: bool = False
    reads_last: bool = False
    is_foreign: bool = False
    about: str = ""
    flag: str = ""

    @property
    def parameter(self) -> str:
        """The name of the command's parameter for this input."""
        return self.flag or self.name


def read_inputs(
    inputs: tuple[Input[Any], ...],
    given: Mapping[str, Any],
    read: Callable[[Input[Any], Any, InputValues, Reader], Any],
    reader: Reader | None = None,
) -> InputValues:
    """Return a question's inputs by name; raises InputError.

    The function `read` returns an input, given its value in `given`, the earlier inputs and the reader. If `given` has
    no value, the input's function `absent` derives it from the files that were read before. Files are read with the
    options that a plan among the inputs recorded. If a file determines a plan's problem, this problem replaces the
    input `problem`.
    """
    values, reader = dict[str, Any](), reader or Reader()
    if any(each.reading is ReadOptions for each in inputs):
        for each in (each for each in inputs if each.name in OF_PLANS and given.get(each.name) is not None):
            whole = replace(each, from_json=lambda value: value, from_file=lambda _reader, data, *_: data)
            with suppress(InputError):  # The plan is read again below, which reports its faults.
                reader.take_record(read(whole, given[each.name], values, reader))
    for each in sorted(inputs, key=lambda each: each.reads_last):
        value = given.get(each.name)
        if value is not None:
            value = read(each, value, values, reader)
        elif each.absent is not None and (reader.data or reader.own_plan is not None):
            value = each.absent(reader, values)
        if value is not None:
            values[each.name] = value
            if each.refuse is not None:
                each.refuse(value, values, reader.options)
    return values if reader.problem_of_plan is None else {**values, "problem": reader.problem_of_plan}


def subject_of(inputs: tuple[Input[Any], ...], values: Mapping[str, Any]) -> Subject:
    """Return a request's entry in lists of jobs: the subject of its last input that has one."""
    about = [each for each in inputs if each.subject is not None and each.name in values]
    assert about, "at least one input must have a subject"
    subject = about[-1]
    assert subject.subject is not None
    return subject.subject(values[subject.name])


def plan_refuted(values: InputValues, answer: object) -> str | None:
    """Return how the plan in an answer violates the question's problem; None if the plan is valid or absent."""
    problem, plan = values.get("problem"), answer if isinstance(answer, Plan) else getattr(answer, "plan", None)
    violations = verify(problem, plan) if isinstance(problem, Problem) and isinstance(plan, Plan) else ()
    return f"plan: is not valid for this problem: {violations[0].message}" if violations else None
