"""The assignment of buffers to shared objects, such as textures, with a small total size and a proof or a gap."""

import contextlib
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from typing import Any, Literal

from memplan.planner.errors import FormatError, OptionError, ProblemError, count_text
from memplan.planner.extensions import Hook
from memplan.planner.formats import memplan_json
from memplan.planner.model.objects import ObjectsProblem, SharedObject
from memplan.planner.model.problem import Problem
from memplan.planner.model.sizes import gap_text, size_text
from memplan.planner.verify.shared_objects import violations
from memplan.questions.inputs import problem_json, problem_subject, read_problem_field, require_object
from memplan.questions.inputs.values import Input, InputValues, Subject
from memplan.questions.question import AnswerOfFile, Control
from memplan.questions.reading import Reader, ReadOptions

_search_kinds: Hook[..., Any] = Hook("search-kinds")
_SWEEP = 0.6
"""The share of the time for the exact sweep, which precedes the local search."""
_LOOKS_PER_S = 500
"""The number of clock checks counted as one second of work; one second of CPU time has 300 to 3,000 of them."""
_SHOWN = 20
"""The maximum number of objects printed for people."""
_MOST_BUFFERS = 10_000
"""The maximum number of buffers: the verifier and the first heuristic then take 1 s of CPU time together."""


class ObjectsAnswer(AnswerOfFile):
    """Shared objects and their total size."""

    status: Literal["optimal", "feasible"]
    """`optimal` (no objects have a smaller total) or `feasible`."""
    total: int
    """The sum of the sizes of all objects, in bytes, or in texels for textures."""
    lower_bound: int
    """No objects have a smaller total than this."""
    gap: float | None
    """`total` / `lower_bound` - 1, as a fraction; null if the bound is 0 and the total is not."""
    objects: tuple[SharedObject, ...]
    """The objects, largest first, with their buffers."""
    by: str
    """The strategy that found the objects, such as `flow`."""
    ways: dict[str, int]
    """The total of each strategy of other systems that applies, by its name, such as `by-size`, `in-order`, `flow` or
    `relay`."""


def share_objects(wanted: ObjectsProblem, running: Control) -> ObjectsAnswer:
    """Return shared objects of small total size; buffers that are alive at the same time get distinct objects.

    Shared objects are memory without offsets, such as GPU textures, which have a width, a height and a kind.
    """
    rows = range(len(wanted.buffers))
    if len(rows) > _MOST_BUFFERS:
        raise ProblemError(f"buffers: must have at most {_MOST_BUFFERS} rows for shared objects, got {len(rows)}")
    lifetimes = [(each.start, each.end) for each in wanted.buffers]
    kinds, sides = [wanted.group(i) for i in rows], [wanted.sides(i) for i in rows]
    with running.search_control(_LOOKS_PER_S) as whole, running.child(_SWEEP).search_control(_LOOKS_PER_S) as sweep:
        clocks = partial(_count_clock_check, whole), partial(_count_clock_check, sweep)
        answer = _search_kinds(lifetimes, sides, kinds, wanted.ratio, clocks)
    groups: dict[int, list[int]] = {}
    for i, k in enumerate(answer.where):
        groups.setdefault(k, []).append(i)
    made = tuple(sorted((_make_object(wanted, members) for members in groups.values()), key=lambda each: -each.amount))
    total = sum(each.amount for each in made)
    return ObjectsAnswer(
        status="optimal" if total == answer.bound else "feasible",
        total=total,
        lower_bound=answer.bound,
        gap=total / answer.bound - 1 if answer.bound else 0.0 if not total else None,
        objects=made,
        by=answer.by,
        ways=dict(answer.ways),
    )


def _count_clock_check(control: Control) -> bool:
    control.spend(1)
    return control.is_over


def _make_object(problem: ObjectsProblem, members: list[int]) -> SharedObject:
    (is_texture, kind), sides = problem.group(members[0]), [problem.sides(i) for i in members]
    width, height = (max(side) for side in zip(*sides, strict=True))
    size = {"width": width, "height": height} if is_texture else {"size": width}
    in_time = sorted(members, key=lambda i: problem.buffers[i].start)
    return SharedObject(**size, kind=kind, buffers=tuple(problem.buffers[i].id for i in in_time))


def objects_lines(found: ObjectsAnswer) -> Iterator[str]:
    """Yield the text lines of an answer: the total size, the objects, and the totals of other strategies."""
    gap = "" if not found.gap else f", gap {gap_text(found.gap)}"
    bound = f"lower bound {found.lower_bound:,}{gap}, by {found.by}"
    yield f"{found.status}: {found.total:,} in {len(found.objects):,} objects, {bound}"
    for each in found.objects[:_SHOWN]:
        sides = size_text(each.amount) if each.size is not None else f"{each.width:,} x {each.height:,}"
        kind = "" if each.kind is None else f" of {each.kind}"
        yield f"{each.amount:,} ({sides}){kind}: {count_text(len(each.buffers), 'buffer')}"
    if len(found.objects) > _SHOWN:
        yield f"and {count_text(len(found.objects) - _SHOWN, 'other')}"
    for name, amount in sorted(found.ways.items(), key=lambda way: way[1]):
        more = f", {amount / found.total - 1:.1%} more" if found.total and amount > found.total else ""
        yield f"{name}: {amount:,}{more}"


def refuse_reading(options: ReadOptions) -> None:
    """Raise OptionError for any given reading option, since none applies to shared objects."""
    said = options.model_dump(mode="json", exclude_defaults=True) if options.model_fields_set else {}
    for name in said:
        raise OptionError.from_rule(name, "must be left out for shared objects, which have no pools and offsets")


def read_problem_or_objects(value: object) -> ObjectsProblem | Problem:
    """Return the problem in a field of a request body, with pools or shared objects; raises InputError."""
    content = require_object(value, "problem", ProblemError)
    return ObjectsProblem.model_validate(content) if content.get("kind") == "objects" else read_problem_field(content)


def _read_problem_file(reader: Reader, data: bytes, name: str, _question: InputValues) -> ObjectsProblem | Problem:
    """Return the problem in a file, with pools or shared objects; raises InputError."""
    if b'"objects"' in data and memplan_json.recognises(data):
        with contextlib.suppress(FormatError):
            content = memplan_json.parse(data)
            if isinstance(content, dict) and content.get("kind") == "objects":
                refuse_reading(reader.options)
                return ObjectsProblem.model_validate(content)
    return reader.problem(data, name)


def _problem_json(problem: ObjectsProblem | Problem) -> Any:
    if isinstance(problem, Problem):
        return problem_json(problem)
    return problem.model_dump(mode="json", exclude_none=True)


def _job_subject(problem: ObjectsProblem | Problem) -> Subject:
    if isinstance(problem, Problem):
        return problem_subject(problem)
    text = problem.model_dump_json(exclude={"name"})
    return Subject(f"sha256:{sha256(text.encode()).hexdigest()}", problem.name, len(problem.buffers))


def objects_refuted(problem: ObjectsProblem, found: ObjectsAnswer) -> str | None:
    """Return the first fault of an answer with shared objects, such as a wrong total; None if it is valid."""
    wrong = next(violations(problem, found.objects), None)
    is_summed = found.total == sum(each.amount for each in found.objects)
    return wrong if wrong is not None else None if is_summed else "total: must be the sum of the object sizes"


PROBLEM_OR_OBJECTS: Input[ObjectsProblem | Problem] = Input(
    "problem",
    ObjectsProblem | Problem,  # Generated clients use the first type that fits a body, so the order matters.
    read_problem_or_objects,
    _problem_json,
    "A file: JSON, CSV or a model, or - for standard input.",
    from_file=_read_problem_file,
    subject=_job_subject,
    reading=ReadOptions,
    about="The problem to plan, with pools or with shared objects.",
)
