"""Classes for the inputs of a question: how each input is read from JSON and files, and written for a service."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.questions.inputs.extent import Extent, extent_of
from memplan.questions.reading import Reader
from memplan.questions.reading.adapting import ProblemOptions

T = TypeVar("T")
InputValues = Mapping[str, Any]
"""The given inputs of a request, by name."""


class Subject(NamedTuple):
    """The facts by which a job is listed: a content hash, a name, and the number of buffers."""

    hash: str
    name: str | None
    n_buffers: int


@dataclass(frozen=True, eq=False)
class Input(Generic[T]):
    """An input of a question: `name` in bodies and in Python; `wire` is its type in the schema.

    `from_json` reads the value from a body. `from_file` reads it from the bytes and name of a file, given the inputs
    before it; None means that the file does not have it. `from_text` reads all values of the command's option that may
    replace the file. Each raises InputError. `to_json` writes the value for a service. `absent` derives it from other
    files if the command got no file for it; without `absent`, a file that is not `required` may be left out.

    The command has a flag for a file that is `named_by_flag`, else an argument. An input that `reads_last` needs the
    other inputs. `subject` returns the facts for listing a request. `extent` counts its JSON before it is read, and
    raises InputError for counts that are surely too large. `reading` has the options for reading the file, and `refuse`
    raises OptionError for options that do not fit the value. An input that `is_foreign` is a file of another system,
    which the question itself reads as bytes; a service does that in a child process.
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


def read_inputs(
    inputs: tuple[Input[Any], ...],
    given: Mapping[str, Any],
    read: Callable[[Input[Any], Any, InputValues, Reader], Any],
    reader: Reader | None = None,
) -> InputValues:
    """Return the inputs of a question by name, each read by `read` with the earlier inputs and a reader.

    An input that is not given is derived from the files that the reader has read. Raises InputError.
    """
    values, reader = dict[str, Any](), reader or Reader()
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
    """Return the facts for listing a request, from its last input that has some: of two problems, the newer one."""
    about = [each for each in inputs if each.subject is not None and each.name in values]
    assert about, "a question is about something"
    subject = about[-1]
    assert subject.subject is not None
    return subject.subject(values[subject.name])


def plan_refuted(values: InputValues, answer: object) -> str | None:
    """Return how the plan in an answer violates the question's problem; None if it is valid or absent."""
    problem, plan = values.get("problem"), answer if isinstance(answer, Plan) else getattr(answer, "plan", None)
    violations = verify(problem, plan) if isinstance(problem, Problem) and isinstance(plan, Plan) else ()
    return f"plan: is not one of this problem: {violations[0].message}" if violations else None
