"""The question `shapes`: one plan that is valid for all values of the symbols in a problem's sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Literal, cast

from pydantic import Field

from memplan.checkers import all_values
from memplan.extensions.shapes.limits import ShapesLimits, bound_at, check_limits, limits_of
from memplan.extensions.shapes.offset_programs import UNPROVED, Evaluator, Index, OffsetProgram, ProgramsProof
from memplan.extensions.shapes.program_source import SOURCES
from memplan.extensions.shapes.search.search import ProvedPrograms, search_programs
from memplan.extensions.shapes.symbolic_input import EXAMPLE, SYMBOLIC, GivenValues, SymbolicOptions, read_sizes
from memplan.extensions.shapes.verify_programs import verify_programs
from memplan.extensions.shapes.verify_shapes import (
    OFFSETS,
    SymbolicOffsets,
    VerifiedShapes,
    verified_lines,
    verify_shapes,
)
from memplan.planner.errors import InvalidPlanError, Option, OptionError, count_text, excerpt
from memplan.planner.model.rows import Bytes, Id
from memplan.programs.symbols.comparing import samples, step_ranges
from memplan.programs.symbols.problem import SymbolicProblem, SymbolicTensor, point_text
from memplan.programs.symbols.space import SymbolRange
from memplan.questions.inputs.values import InputValues
from memplan.questions.question import Answer, Control, Question

CURVE_POINTS = 64
"""The maximum number of points in a symbol's curve; for 700 buffers, evaluating them takes 5 ms."""


class Curve(Answer):
    """The peak and the bound over the values of one symbol."""

    symbol: str
    """The name of the symbol."""
    at: dict[str, int]
    """The values of the other symbols: their largest ones, or 64 times the minimum without a maximum."""
    values: tuple[int, ...]
    """The values of the symbol, at most 64."""
    peak: tuple[int, ...]
    """The peak in bytes at each value."""
    bound: tuple[int, ...]
    """The lower bound in bytes at each value."""


def curves(problem: SymbolicProblem, found: ProvedPrograms, is_over: Callable[[], bool]) -> Iterator[Curve]:
    """Yield a curve (peak and bound over the values) for each symbol with several values, until time is over."""
    if is_over():
        return
    space = found.sized.space
    peak, bound = Evaluator(problem, found.programs).peak, bound_at(found.sized, found.loads)
    steps = step_ranges(space)
    largest = {name: high * space.symbols[name].multiple_of for name, (_, high) in steps.items()}
    for name, (low, high) in steps.items():
        count = min(CURVE_POINTS, high - low + 1)
        if count > 1 and not is_over():
            chosen = (low + (high - low) * k // (count - 1) for k in range(count))
            values = tuple(step * space.symbols[name].multiple_of for step in chosen)
            points = [{**largest, name: value} for value in values]
            others = {other: value for other, value in largest.items() if other != name}
            yield Curve(
                symbol=name, at=others, values=values, peak=tuple(map(peak, points)), bound=tuple(map(bound, points))
            )


VERIFIED_AT, LEAST_VERIFIED = 24, 2
"""The maximum number of values to verify besides corners (0.1 s for 700 buffers), and the minimum number in total."""
_ROWS = 30
_BY: Mapping[str, str] = {
    "sizes": "its chains are live sets, whatever the sizes are",
    "forms": "each form of the peak is at most one of the bound",
    "boxes": "boxes of values, each proved or looked at value by value",
}


class ShapesOptions(SymbolicOptions):
    """Options of the question `shapes`."""

    most: Annotated[int, Field(ge=1, le=16)] = Field(
        5, description="Keep at most this many offset programs. At run time the one with the least peak is used."
    )
    limits: bool = Field(
        False, description="Compute how far one or two symbols may grow. The other symbols have the values of `at`."
    )
    within: Bytes | None = Field(
        None, description="With limits, the bytes that the plan may take. The default is the capacity of the problem."
    )
    at: GivenValues = Field({}, description="For limits, the values of the other symbols: b=8.")
    to: Literal["c", "python"] | None = Field(
        None, description="Include source code in this language that computes the offsets."
    )


class ShapesAnswer(Answer):
    """Offset programs, or the verdict on offsets of another system.

    If offsets of another system were checked, the answer has only `verified`, its status, and facts about the problem.
    """

    status: Literal["optimal", "feasible", "valid", "invalid", "unknown"]
    """`optimal`: no plan needs fewer bytes at any value of the symbols; `feasible`: a plan; `valid`, `invalid`,
    `unknown`: the verdict on offsets of another system."""
    symbols: dict[str, SymbolRange]
    """The range of each symbol, by its name."""
    alignment: int
    """The offsets of all buffers are multiples of this number of bytes."""
    ids: tuple[Id, ...] = ()
    """The names of the buffers; other fields have the positions of buffers in this list."""
    lifetimes: tuple[tuple[int, int], ...] = ()
    """The first time step of each buffer, and the step after its last one."""
    sizes: tuple[str, ...] = ()
    """The distinct sizes, padded to the alignment, as expressions over the symbols."""
    size_of: tuple[int, ...] = ()
    """For each buffer, the position of its size in `sizes`."""
    programs: tuple[OffsetProgram, ...] = ()
    """The offset programs; the one with the least peak gives the offsets."""
    apart: tuple[tuple[Index, ...], ...] = Field((), exclude_if=lambda apart: not apart)
    """The sets of buffers that explicit conflicts separate."""
    pins: tuple[tuple[Index, Index], ...] = Field((), exclude_if=lambda pins: not pins)
    """Pairs of a buffer and the position in `sizes` of its offset."""
    views: tuple[tuple[Index, Index, Index], ...] = Field((), exclude_if=lambda views: not views)
    """Triples of an alias, its buffer, and the position in `sizes` of the distance from its buffer's start."""
    bound: tuple[str, ...] = ()
    """Expressions whose maximum is the lower bound."""
    proof: ProgramsProof = UNPROVED
    """The proof of how far the peak is above the bound for all values."""
    verified_at: int = 0
    """The number of values of the symbols at which all offsets were verified; few after the time is over."""
    unchecked: str | None = None
    """The claims that `checkers/all_values.py` did not decide in time; null if it proved all."""
    curves: tuple[Curve, ...] = ()
    """The peak and the bound as numbers, over each symbol; empty after the time is over."""
    source: str | None = None
    """The source code that computes the offsets; null without the option `to`."""
    tensors: tuple[SymbolicTensor, ...] = Field((), exclude_if=lambda tensors: not tensors)
    """The tensors of a model, including views."""
    limits: ShapesLimits | None = Field(None, exclude_if=lambda limits: limits is None)
    """How far symbols may grow; present with the option `limits`."""
    verified: VerifiedShapes | None = Field(None, exclude_if=lambda verified: verified is None)
    """The verdict on the offsets of another system, if they were given."""


def shapes(
    problem: SymbolicProblem | bytes,
    verify: SymbolicOffsets | None = None,
    options: ShapesOptions = ShapesOptions(),
    control: Control = Control(),
) -> ShapesAnswer:
    """Plan a problem whose sizes are expressions, such as `48*b*n**2`, once for all values of its symbols.

    The answer is an offset program: each offset is the largest of some sums of sizes, so that nothing overlaps
    whatever the sizes are. It has a proof that no plan needs less at any value, or says how far above the bound it may
    be. A model whose dimensions are symbols is such a problem, too. With `limits`, the answer says how far symbols may
    grow before a capacity is exceeded. With `verify`, offsets of another system are checked for all values instead.
    """
    running = control.begin(options)
    problem = read_sizes(problem, options)
    if verify is not None:
        checked = verify_shapes(problem, verify, running.deadline.at)
        return ShapesAnswer(
            status=checked.status, symbols=problem.symbols, alignment=problem.alignment, verified=checked
        )
    limit = check_limits(problem, options.within, options.at) if options.limits else None

    def note(found: ProvedPrograms) -> None:
        if running.note is not None:
            first = _verified_answer(problem, found, options, lambda: True)
            lacks = "" if limit is None else "limits, which were not found in time; "
            running.note(first.model_copy(update={"unchecked": lacks + _unproved_text(first)}))

    programs = search_programs(problem, options.most, running, note)
    if limit is not None:
        note(programs)
    answer = _verified_answer(problem, programs, options, lambda: running.is_over)
    if limit is not None:
        answer = answer.model_copy(update={"limits": limits_of(programs, limit[0], options.at, limit[1])})
    return answer.model_copy(update={"unchecked": _undecided_claims(answer, problem, running)})


def _verified_answer(
    problem: SymbolicProblem, planned_programs: ProvedPrograms, options: ShapesOptions, is_over: Callable[[], bool]
) -> ShapesAnswer:
    """Return the answer with these programs, verified at sampled values, or at two values if time is over."""
    programs = planned_programs.programs
    points = samples(planned_programs.sized.space, VERIFIED_AT, seed=2)
    some = (point for k, point in enumerate(points) if k < LEAST_VERIFIED or not is_over())
    sampled = verify_programs(problem, programs, some)
    if not sampled.is_valid:
        raise InvalidPlanError(*sampled.violations)
    return ShapesAnswer(
        status="optimal" if planned_programs.proof.ratio == 0 else "feasible",
        symbols=problem.symbols,
        alignment=problem.alignment,
        ids=tuple(buffer.id for buffer in problem.buffers),
        lifetimes=tuple((buffer.start, buffer.end) for buffer in problem.buffers),
        sizes=programs.sizes,
        size_of=programs.size_of,
        programs=programs.programs,
        apart=planned_programs.sized.apart,
        pins=planned_programs.sized.pins,
        views=planned_programs.sized.views,
        bound=tuple(planned_programs.sized.space.text(load) for load in planned_programs.loads),
        proof=planned_programs.proof,
        verified_at=sampled.points,
        curves=tuple(curves(problem, planned_programs, is_over)),
        tensors=problem.tensors,
        source=None if options.to is None else SOURCES[options.to](planned_programs.sized, programs),
    )


def _undecided_claims(answer: ShapesAnswer, problem: SymbolicProblem, running: Control) -> str | None:
    """Return the claims that `checkers/all_values.py` left undecided, as text; None if it proved all of them."""
    if answer.proof.ratio is None:
        return _unproved_text(answer)
    content = answer.model_dump(mode="json", exclude={"curves", "source", "tensors", "limits"})
    try:
        check = cast(Callable[..., None], all_values.check)  # The checker has no annotations, so cast its function.
        check(content, problem.model_dump(mode="json"), lambda: running.is_over)
    except all_values.Undecided as why:
        return f"the proof for all values: checkers/all_values.py ended undecided, {why}"
    except all_values.Refused as why:
        raise InvalidPlanError(f"all_values.py: {why}") from None
    return None


def _unproved_text(answer: ShapesAnswer) -> str:
    return f"offsets beyond {count_text(answer.verified_at, 'value')}, as no ratio is claimed for all"


def lines(found: ShapesAnswer) -> Iterator[str]:
    """Yield the lines to print for an answer: a verdict, limits, source code, or a summary of plan and proof."""
    if found.verified is not None:
        yield from verified_lines(found.verified)
        return
    if found.limits is not None:
        yield from found.limits.lines()
        return
    if found.source is not None:
        yield from found.source.splitlines()
        return
    ranges = ", ".join(_range_text(name, symbol) for name, symbol in found.symbols.items()) or "no symbols"
    orders = "one order" if len(found.programs) == 1 else f"the least of {len(found.programs)} orders"
    yield f"{found.status} for all values of {ranges}: {count_text(len(found.ids), 'buffer')}, {orders}"
    proof = found.proof
    if proof.for_any_sizes:
        yield "optimal whatever the sizes of the buffers are: the order depends on lifetimes alone"
    elif proof.ratio == 0:
        yield f"proved: {_BY.get(proof.by, proof.by)}"
    elif proof.ratio is not None:
        yield f"proved: at most {100 * proof.ratio:g} % above the bound everywhere"
    else:
        yield "nothing is proved of how far it is above the bound at all values"
    if found.unchecked is not None:
        yield f"not checked: {found.unchecked}"
    if proof.worst is not None:
        percent = f"{(proof.worst_ratio - 1) * 100:.3g} %"
        yield f"worst of what was tried: {percent} above the bound at {point_text(proof.worst)}"
    yield from _maximum_lines("bound", found.bound)
    for i, program in enumerate(found.programs):
        name = "peak" if len(found.programs) == 1 else f"peak of order {i + 1}"
        if program.peak is not None and set(program.peak) != set(found.bound):
            yield from _maximum_lines(name, program.peak)
        yield f"{name}: {count_text(len(program.values), 'different offset')}"


def _range_text(name: str, symbol: SymbolRange) -> str:
    upper = "and above" if symbol.max is None else f"to {symbol.max}"
    return f"{name} from {symbol.min} {upper}" + (f" by {symbol.multiple_of}" if symbol.multiple_of > 1 else "")


def _maximum_lines(name: str, forms: tuple[str, ...]) -> Iterator[str]:
    if len(forms) == 1:
        yield f"{name}: {forms[0]}"
        return
    yield f"{name}: the largest of"
    yield from (f"    {form}" for form in forms[:_ROWS])
    if len(forms) > _ROWS:
        yield f"    and {count_text(len(forms) - _ROWS, 'other')}"


def _check_options(values: InputValues, options: ShapesOptions) -> None:
    """Raise OptionError if options exclude each other or do not suit the problem."""
    for name in ("within", "at"):
        if getattr(options, name) and not options.limits:
            rule = ("applies only with ", Option("limits"), f", got {excerpt(getattr(options, name))}")
            raise OptionError.from_rule(name, *rule, way="give both, or leave it out")
    problem = values["problem"]
    if options.limits and "verify" in values:
        raise OptionError("limits: must not be given together with offsets to verify")
    if options.limits and isinstance(problem, SymbolicProblem):
        check_limits(read_sizes(problem, options), options.within, options.at)


def _exit_status(found: ShapesAnswer) -> int:
    if found.verified is not None:
        return 0 if found.status == "valid" else 3
    return 0 if found.limits is None or found.limits.has_fitting_value else 1


QUESTION = Question(
    shapes,
    inputs=(SYMBOLIC, OFFSETS),
    lines=lines,
    exit_status=_exit_status,
    exits={
        0: "there is a plan for all values, some value fits, or the offsets are valid",
        1: "no value fits",
        3: "the offsets are not valid for all values, or that is not known",
    },
    check=_check_options,
    example={"problem": EXAMPLE, "options": {"limits": True, "within": 67_108_864, "at": {"b": 8}, "time_limit_s": 5}},
)
