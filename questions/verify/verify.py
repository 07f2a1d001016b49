"""The question `verify`: the violations of a plan, the causes of its peaks, and the checks of its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args

from pydantic import Field

from memplan.planner.bounds.lower_bound import lower_bound
from memplan.planner.errors import FormatError, PlanError, count_text, excerpt
from memplan.planner.instance.audit import refuse_other_plan
from memplan.planner.instance.audit import verify as violations_of
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.moving import as_pieces
from memplan.planner.model.plan import Plan, ProofKind
from memplan.planner.model.problem import Problem
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.places import MOST_PAIRS, lowest_places
from memplan.planner.verify.violation import Violation, false_claim
from memplan.questions.inputs import EXAMPLE, EXAMPLE_PLAN, PLAN, PROBLEM
from memplan.questions.inputs.values import Input, InputValues
from memplan.questions.plan.answers import problem_in_heaps
from memplan.questions.question import Answer, AnswerOfFile, Control, Question, QuestionOptions, ignore_report
from memplan.questions.reading import Reader
from memplan.questions.verify.again import Again, lines_of_again, solve_again
from memplan.questions.verify.better import BesideBest, compare_with_best, lines_beside_best
from memplan.questions.verify.peaks import PoolPeak, pool_peaks
from memplan.solvers.certificates import verdicts
from memplan.solvers.certificates.verdicts import By, ProofText
from memplan.solvers.search.to_plan import explain

A = TypeVar("A", BesideBest, Again)
_BY_SEARCH = ("search", "engines")


class ClaimCheck(Answer):
    """A claim of a plan, and the check that confirmed it."""

    claim: str
    """The field of the plan that states the claim, such as `peak` or `pools[0].lower_bound`."""
    by: By | None
    """What confirmed it: `placements`, a `witness` (named in the plan), or a `certificate`; null if it was not
    checked."""


class BufferPlaces(Answer):
    """The lowest possible place of each buffer, in the problem's order, while all other buffers stay."""

    lowest: tuple[int, ...]
    """The lowest offset that keeps every rule, in bytes, or -1 if it was not found."""
    under: tuple[int, ...]
    """The position of the buffer below (-1: the bottom of the pool, -2: a reserved range)."""
    idle: tuple[int, ...]
    """The bytes between the buffer and its support below."""
    over: tuple[int, ...]
    """The position of the next buffer above (-1: none)."""


class VerifyOptions(QuestionOptions):
    """Options of `verify`."""

    needs = MappingProxyType({"with_plans": ("better", "again")})

    places: bool = Field(False, description="Also report how low each buffer could lie while all others stay in place.")
    better: bool = Field(
        False,
        description="Also compare with the best plan: the bytes that are wasted, and the fewest moves that lead to it.",
    )
    again: bool = Field(
        False, description="Also solve once more with the options in the plan, and compare the plans byte by byte."
    )
    with_plans: bool = Field(False, description="Include the plans that `better` and `again` made in the answer.")

    @property
    def counts_work(self) -> bool:
        """True if the plan is solved again, which may take as long as it needs."""
        return self.again

    @property
    def can_end(self) -> bool:
        """True, because a verdict may be given early: it lists the checks that were not made."""
        return True


class Verdict(AnswerOfFile):
    """The verdict on a plan."""

    valid: bool
    """True if the plan breaks no rule."""
    violations: tuple[Violation, ...]
    """The broken rules; at most 1,000 of each kind."""
    placements: int = 0
    """The number of placements in the plan."""
    unrepeated: ProofKind | None = None
    """The kind of the plan's proof, such as `search`, if it is not repeated; else null."""
    claims: tuple[ClaimCheck, ...] = ()
    """The claims of a valid plan, with their checks."""
    unmendable: str | None = Field(None, exclude_if=lambda reason: reason is None)
    """Why no valid plan can keep places of this invalid plan; left out if no reason is known."""
    proved: str | None = None
    """What the given certificate proves, or why it was refused; null without a certificate."""
    recounted_cost: float | None = Field(None, exclude_if=lambda bound: bound is None)
    """The verifier's own lower bound on the cost of every plan, at most about the claimed one; left out if there is
    none."""
    pools: tuple[PoolPeak, ...] = ()
    """For a valid plan, the peak of each pool."""
    places: BufferPlaces | None = Field(None, exclude_if=lambda found: found is None)
    """The lowest place of each buffer; left out unless the option `places` is given, and if too many pairs of buffers
    would have to be compared."""
    better: BesideBest | None = Field(None, exclude_if=lambda found: found is None)
    """The comparison with the best plan; left out unless the option `better` is given."""
    again: Again | None = Field(None, exclude_if=lambda found: found is None)
    """The comparison with a second answer; left out unless the option `again` is given."""
    not_done: tuple[Literal["better", "again"], ...] = Field((), exclude_if=lambda names: not names)
    """The requested parts for which the time was too short; left out if there are none."""


def verify(
    problem: Problem,
    plan: Plan,
    certificate: ProofText | str | None = None,
    options: VerifyOptions = VerifyOptions(),
    control: Control = Control(),
) -> Verdict:
    """Verify a plan: report every violation, with both buffers, the bytes and the time, and every claim that is wrong.

    The answer lists which claims of the plan were checked, and which were not. A proof by search is not repeated; a
    certificate is checked. For a valid plan, the answer says what decides the peak of each pool.
    """
    problem = problem_in_heaps(problem, plan)
    running = control.begin(options)
    # The recount of the cost may take half of the time, so that the verdict is there before the limit.
    due = running.deadline
    verdict = verdict_on(problem, plan, certificate, is_over=lambda: due.remaining_s < due.passed_s)
    if not options.places:
        verdict = verdict.model_copy(update={"places": None})
    if not options.better and not options.again:
        return verdict
    note = running.note or ignore_report
    wanted = tuple(name for name, is_wanted in (("better", options.better), ("again", options.again)) if is_wanted)
    note(verdict.model_copy(update={"not_done": wanted}))
    if options.better:
        left_s = running.remaining_s / 2 if options.again else running.remaining_s
        searching = Control(running.deadline.limit_to(left_s), running.cancelled)
        better = compare_with_best(problem, plan, verdict.valid, time_limit_s=left_s, control=searching)
        verdict = verdict.model_copy(update={"better": _drop_plan(better, options)})
        if options.again:
            note(verdict.model_copy(update={"not_done": ("again",)}))
    if options.again:
        again = solve_again(problem, plan, running)
        done: dict[str, Any] = {"not_done": ("again",)} if again is None else {"again": _drop_plan(again, options)}
        verdict = verdict.model_copy(update=done)
    return verdict


def _drop_plan(part: A, options: VerifyOptions) -> A:
    return part if options.with_plans else part.model_copy(update={"plan": None})


def verdict_on(
    problem: Problem,
    plan: Plan,
    certificate: ProofText | str | None = None,
    most_pairs: int = MOST_PAIRS,
    is_over: Callable[[], bool] = lambda: False,
) -> Verdict:
    """Return the verdict on a plan; lowest offsets are computed if at most `most_pairs` pairs must be compared.

    After `is_over()`, the lower bound on the cost is no longer improved.
    """
    violations, proved = violations_of(problem, plan), None
    proof = ProofText(certificate) if isinstance(certificate, str) else certificate
    if proof is not None:
        proved = verdicts.checker_verdict(problem, proof)
        proved = proved if violations else verdicts.verdict_beside_plan(problem, plan, proved)
        violations += tuple(verdicts.contradictions(plan, proof, proved))
        if proved.kind is None:
            violations += (Violation("false-claim", f"certificate: {proved.sentence}"),)
    recounted = None if violations or problem.moves else verdicts.recounted_cost(problem, plan, is_over)
    if recounted is not None and plan.cost is not None and recounted > plan.cost * (1 + 1e-9):
        rule = f"at most {plan.cost}, the cost of this valid plan: the recount is at fault, not the plan"
        violations, recounted = (false_claim("recounted_cost", rule, recounted),), None
    claims = {} if violations else verdicts.claim_checks(problem, plan, proof, proved, recounted)
    is_repeated = plan.proof is None or plan.proof.kind not in _BY_SEARCH or claims.get("status") == "certificate"
    pools, lowest = ((), None) if violations else _peaks_and_places(problem, plan, claims, most_pairs)
    return Verdict(
        valid=not violations,
        violations=violations,
        placements=len(plan.placements),
        unrepeated=None if is_repeated or plan.proof is None else plan.proof.kind,
        unmendable=_mending_obstacle(problem, plan) if violations else None,
        claims=tuple(ClaimCheck(claim=claim, by=by) for claim, by in claims.items()),
        proved=None if proved is None else proved.sentence,
        recounted_cost=recounted,
        pools=pools,
        places=lowest,
    )


def _mending_obstacle(problem: Problem, plan: Plan) -> str | None:
    """Return why no valid plan can keep a placement of this plan; None if no obstacle is known."""
    if problem.moves:
        return "buffers that move are planned anew: `memplan plan`"
    try:
        refuse_other_plan(problem, plan)
    except PlanError as error:
        # People read this text at a terminal, so name each option as a flag of the command.
        return " ".join(rule for rule, _ in error.rules_with_ways(lambda option: f"--{option.field} {option.value}"))
    if all(pool.size is None for pool in problem.pools):
        return None
    instance = compile_problem(problem)
    bound = lower_bound(instance)
    if not instance.unplaceable and bound.nothing_fits is None:
        return None
    return f"no plan is valid in these pools: {explain(problem, instance, bound).message}"


def _peaks_and_places(
    problem: Problem, plan: Plan, claims: Mapping[str, By | None], most_pairs: int
) -> tuple[tuple[PoolPeak, ...], BufferPlaces | None]:
    """Return the peak of each pool in a valid plan, and the lowest possible offset of each buffer."""
    if len(plan.placements) == 0:
        return (), None
    problem, plan = as_pieces(problem, plan)
    placed = PlacedBuffers.from_placements(problem, plan.placements)
    lowest = lowest_places(problem, placed, most_pairs)
    bounds: dict[str, tuple[int | None, str | None]] = {
        use.name: (use.lower_bound, claims.get(f"pools[{k}].lower_bound")) for k, use in enumerate(plan.pools)
    }
    if len(problem.pools) == 1 and plan.lower_bound is not None:
        bounds[problem.pools[0].name] = (plan.lower_bound, claims.get("lower_bound"))
    pools = tuple(pool_peaks(problem, plan, placed, lowest, bounds))
    if lowest is None:
        return pools, None
    columns = (tuple(getattr(lowest, name).tolist()) for name in BufferPlaces.model_fields)
    return pools, BufferPlaces(**dict(zip(BufferPlaces.model_fields, columns, strict=True)))


_LISTED = 5
"""The maximum number of violations shown for a plan of another problem, where they help little."""


def verdict_lines(found: Verdict) -> Iterator[str]:
    """Yield the text lines of the answer: violations and remedies, or peaks and claims, then the requested parts."""
    is_of_other = any(violation.message.startswith("problem_hash:") for violation in found.violations)
    if is_of_other:
        way = "give the problem for which the plan was made"
        yield f"the plan is of another problem: its problem_hash is not that of this one; {way}"
    listed = found.violations[:_LISTED] if is_of_other else found.violations
    for violation in listed:
        yield f"{violation.rule}: {violation.message}"
    if len(listed) < len(found.violations):
        yield f"and {count_text(len(found.violations) - len(listed), 'other violation')}"
    if found.unmendable is not None:
        yield found.unmendable
    elif found.violations and all(each.message.startswith("certificate: ") for each in found.violations):
        yield "the placements are valid; `memplan certify` writes a certificate of this problem"
    elif not found.valid:
        yield "`memplan plan --keep PLAN` keeps valid placements and moves the others"
    else:
        yield from _valid_lines(found)
    if found.better is not None:
        yield from lines_beside_best(found.better)
    if found.again is not None:
        yield from lines_of_again(found.again)
    if found.not_done:
        yield f"not done in time: {', '.join(found.not_done)}"


def _valid_lines(found: Verdict) -> Iterator[str]:
    """Yield the text lines about a valid plan: its placements, its peaks, and which claims were checked."""
    note = "" if found.unrepeated is None else "; its proof by search is not repeated"
    yield f"valid, {count_text(found.placements, 'placement')}{note}"
    for pool in found.pools:
        yield f"{pool.name if pool.name.isprintable() else excerpt(pool.name)}: {pool.sentence}"
    for by in get_args(By):
        if names := [each.claim for each in found.claims if each.by == by]:
            yield f"checked by the {by}: {', '.join(names)}"
    if names := [each.claim for each in found.claims if each.by is None]:
        yield f"not checked: {', '.join(names)}"
    if found.recounted_cost is not None:
        yield f"recounted: every plan costs at least {found.recounted_cost:,.15g}"
    if found.proved is not None:
        yield found.proved


def _certificate_field(value: object) -> ProofText:
    """Return the certificate in a field of a body; raises FormatError unless the field is a text."""
    if not isinstance(value, str):
        raise FormatError(f"certificate: must be a text, got {excerpt(value)}")
    return ProofText(value)


def _certificate_file(reader: Reader, data: bytes, _name: str, _question: InputValues) -> ProofText:
    """Return a certificate together with the text of its problem's file, unless that file is a model."""
    is_plain = reader.imported is None
    try:
        problem = reader.data.decode() if is_plain else None
        if not data.startswith(b"memplan-"):
            raise ValueError
        return ProofText(data.decode(), problem, reader.options.interval)
    except ValueError:
        raise FormatError(
            f"must be the text of a certificate, got {excerpt(data[:16])}; without one, only the plan is checked"
        ) from None


CERTIFICATE = Input(
    "certificate",
    str,
    _certificate_field,
    lambda proof: proof.text,
    "Check this certificate of the plan against the file of the problem.",
    from_file=_certificate_file,
    required=False,
    named_by_flag=True,
    reads_last=True,
)


def _exit_status(found: Verdict) -> int:
    if not found.valid:
        return 3
    if "again" in found.not_done:
        return 6
    return 0 if found.again is None else _STATUS_OF_AGAIN[found.again.same]


_STATUS_OF_AGAIN = {"bytes": 0, "peak": 4, "nothing": 5}
QUESTION = Question(
    verify,
    inputs=(
        replace(PROBLEM, help="A problem; a model, dump or table with a plan inside; or -.", metavar="PROBLEM|MODEL"),
        replace(PLAN, absent=lambda reader, values: reader.plan_inside(values["problem"]), about="The plan to verify."),
        CERTIFICATE,
    ),
    lines=verdict_lines,
    exit_status=_exit_status,
    exits={
        0: "the plan is valid",
        3: "it is not",
        4: "again: another plan of the same peak",
        5: "again: another peak",
        6: "again: not done in time",
    },
    # Starting a worker process takes longer than verifying a plan, so only a search runs in a worker process.
    is_brief=lambda _subject, options: not (options.better or options.again),
    takes_moves=True,
    example={
        "problem": EXAMPLE,
        "plan": EXAMPLE_PLAN | {"options": {"deterministic": True}},
        "options": {"places": True, "better": True, "again": True},
    },
)
