"""Values of plans and bounds of certificates for each kind of problem, computed only by programs in checkers/.

Plans of cascades have no value here, because no checker supports them.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from memplan.checkers import all_values, check, objects, order, plan, sequence
from memplan.planner.errors import FormatError, InputError

_CHECKERS: tuple[Any, ...] = (check, order, plan, sequence, objects, all_values)
REFUSALS = tuple({module.Refused for module in _CHECKERS} | {all_values.Undecided})
WRONG = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
_CHECK, _ORDER, _PLAN, _SEQUENCE, _OBJECTS, _VALUES = _CHECKERS


T = TypeVar("T")


class BrokenRuleError(InputError):
    """A submitted plan violates a rule, or a submitted certificate does not prove its claim."""


Worth = tuple[float, float | None]
"""(value of a plan, lower bound that its checker also computes, or None)."""
Judge = Callable[[str, str, int | None], Worth]
"""A function of (problem text, plan text, limit) that returns the plan's Worth. Raises one of REFUSALS."""


@dataclass(frozen=True)
class Kind:
    """A kind of problem in the library.

    least: the name of the minimised quantity.
    judge: computes the value of a plan; None if no checker outside of memplan supports this kind.
    prove: computes the bound that a certificate proves, or None if nothing fits; None for a kind without certificates.
    """

    name: str
    least: str
    judge: Judge | None = None
    prove: Callable[[str, str, int | None], float | None] | None = None


def _int_or_float(value: Any) -> float:
    number = Fraction(value)
    return int(number) if number.denominator == 1 else float(number)


def _judge_peak(problem: str, text: str, limit: int | None) -> Worth:
    used, _, alive = _PLAN.check(problem, text)
    return sum(used), alive


def _judge_fit(problem: str, text: str, limit: int | None) -> Worth:
    _PLAN.check(problem, text, [(limit, None)] if limit is not None else None)
    return 0, 0


def _judge_cost(problem: str, text: str, limit: int | None) -> Worth:
    """Return (cost of a valid plan, lower bound on it): 0 for a cost of 0, else None, because it is unknown."""
    _, cost, _ = _PLAN.check(problem, text)
    return _int_or_float(cost), 0 if cost == 0 else None


def _judge_heaps(problem: str, text: str, limit: int | None) -> Worth:
    used, _, alive = _PLAN.check(problem, text, heap=limit)
    return sum(end > 0 for end in used), -(-alive // (limit or 1))


def _judge_order(problem: str, text: str, limit: int | None) -> Worth:
    most, _ = _SEQUENCE.check(problem, text)
    return most, _SEQUENCE.lower_bound(problem)


def _judge_recomputation(problem: str, text: str, limit: int | None) -> Worth:
    """Return (peak, lower bound) of a recomputation plan. Raises Refused if repetitions cost more than `limit`."""
    most, again = _SEQUENCE.check(problem, text)
    if limit is not None and again > limit:
        raise _SEQUENCE.Refused(f"operations that run again must cost at most {limit}, got {again}")
    return most, _SEQUENCE.lower_bound(problem)


def _judge_objects(problem: str, text: str, limit: int | None) -> Worth:
    total, least = _OBJECTS.check(problem, text)
    return total, least


def _judge_symbolic(problem: str, text: str, limit: int | None) -> Worth:
    answer = json.loads(text)
    _VALUES.check(answer, json.loads(problem))
    return _int_or_float(str(answer["proof"]["ratio"])), 0


def _certified_packing(problem: str, text: str, limit: int | None) -> float | None:
    """Return the lower bound (bytes, cost or price) that a certificate for check.py proves, or None if nothing fits."""
    lines = text.split("\n")
    _CHECK.check(problem, lines[:-1], [(limit, None)] if limit is not None else None)
    word, *numbers = lines[2].split(" ")
    if word == "infeasible":
        return None
    return int(numbers[0]) if word in ("used", "price") else _int_or_float(Fraction(int(numbers[0]), int(numbers[1])))


def _certified_infeasibility(problem: str, text: str, limit: int | None) -> float | None:
    """Check a certificate that nothing fits, and return None; a certificate of any other claim raises Refused."""
    if _certified_packing(problem, text, limit) is not None:
        raise _CHECK.Refused("the certificate must claim that no plan fits")
    return None


def _certified_order(problem: str, text: str, limit: int | None) -> float | None:
    _ORDER.check(problem, text.splitlines())
    return int(text.splitlines()[1].split()[1])


KINDS = {
    kind.name: kind
    for kind in (
        Kind("peak", "bytes of one memory", _judge_peak, _certified_packing),
        Kind("fit", "nothing: does it fit?", _judge_fit, _certified_infeasibility),
        Kind("pools", "cost of what several memories hold", _judge_cost, _certified_packing),
        Kind("rules", "bytes of one memory, with rules", _judge_peak, _certified_packing),
        Kind("reuse", "price of shared bytes", _judge_cost, _certified_packing),
        Kind("heaps", "heaps of a limited size", _judge_heaps),
        Kind("objects", "bytes of shared objects", _judge_objects),
        Kind("symbols", "peak above the bound, for all sizes", _judge_symbolic),
        Kind("order", "bytes alive at once", _judge_order, _certified_order),
        Kind("recompute", "bytes alive at once, where operations may run again", _judge_recomputation),
        Kind("cascade", "bytes of a network in stripes"),
    )
}
"""The kinds of problems in the library, by name."""


def judge_plan(kind: Kind, problem: str, text: str, limit: int | None) -> Worth:
    """Return the value of a plan, and a lower bound on the value if one is known.

    Raises BrokenRuleError for an invalid plan, and FormatError for a file that its checker cannot read.
    """
    if kind.judge is None:
        raise FormatError(
            f"kind: {kind.name} has no checker outside of memplan, so send the answer of `memplan {kind.name}`"
        )
    return _run_judge(kind.judge, problem, text, limit)


def prove_certificate(kind: Kind, problem: str, text: str, limit: int | None) -> float | None:
    """Return the bound that a certificate proves, None if nothing fits. Raises an error for a wrong certificate."""
    if kind.prove is None:
        raise FormatError(f"kind: {kind.name} has no certificates; send a plan instead")
    return _run_judge(kind.prove, problem, text, limit)


def _run_judge(run: Callable[[str, str, int | None], T], problem: str, text: str, limit: int | None) -> T:
    """Return the result of a checker; its refusals become BrokenRuleError, and its format errors FormatError."""
    try:
        return run(problem, text, limit)
    except REFUSALS as why:
        raise BrokenRuleError(str(why)) from why
    except WRONG as error:
        raise FormatError(f"file: must be readable by its checker: {error}") from error
