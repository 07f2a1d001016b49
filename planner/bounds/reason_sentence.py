"""Explanations of infeasibility, each as one sentence for people."""

from memplan.planner.errors import count_text, excerpt
from memplan.planner.instance.legal_offsets import last_end
from memplan.planner.model.entries import FIELDS
from memplan.planner.model.plan import Explanation, RuleMember
from memplan.planner.model.problem import ADDRESS_SPACE, Problem

_NAMED = 3
"""The maximum number of buffers, and of rules, that a sentence lists by name."""


def sentence(problem: Problem, found: Explanation) -> str:
    """Return an explanation as one sentence, which is kept short enough for one line of a terminal where possible."""
    count = len(found.buffers)
    names = [excerpt(name) for name in found.buffers]
    capacity = None if found.pool is None else last_end(problem.pools[problem.pool_index[found.pool]])
    size = int(problem.buffers.size[problem.index[found.buffers[0]]]) if count == 1 else 0
    if capacity is not None and size > capacity:
        names[0] += f": {size:,} bytes, more than {capacity:,}"
    buffers = f"{count_text(count, 'buffer')} ({_list_text(names, count)})"
    if found.missing_bytes is not None:
        when = "" if found.time is None else f" at time {found.time}"
        alone = " alone does not fit" if count == 1 else " do not fit"
        apart = ", which conflict pairwise," if found.time is None and count > 1 else ""
        text = (
            f"pool {excerpt(found.pool)} lacks {count_text(found.missing_bytes, 'byte')}{when}; {buffers}{apart}{alone}"
        )
    elif found.kind == "stretch" and found.stretch is not None:
        first, last = found.stretch
        text = f"the buffers alive from time {first} to {last} do not fit: {count_text(count, 'buffer')}"
    else:
        has_end = capacity not in (None, ADDRESS_SPACE - 1)
        pool = f"pool {excerpt(found.pool)}" + (f" ({capacity:,} bytes)" if has_end else "")
        text = f"{f'{pool} does not' if len(problem.pools) == 1 else 'no pools'} hold {buffers}"
    if found.rules:
        text += f", with {_list_text([rule_text(rule, problem) for rule in found.rules], len(found.rules))}"
    if found.other_bottlenecks:
        more = found.other_bottlenecks
        text += f"; {more} other stretch{'es' * (more > 1)} of time {'are' if more > 1 else 'is'} too full as well"
    return text


def rule_text(rule: RuleMember, problem: Problem | None = None) -> str:
    """Return a rule as a phrase; with `problem`, the phrase for a page rule (`no_cross`) includes the buffer's size."""
    if rule.rule == "reserved":
        value = rule.value if isinstance(rule.value, tuple) else (0, 0)
        return f"the reserved range of {value[1]:,} bytes at {value[0]:,} of pool {excerpt(rule.pool)}"
    if rule.rule == "pool_alignment":
        return f"the alignment {rule.value} of pool {excerpt(rule.pool)}"
    if rule.rule in FIELDS:
        return f"{rule.rule} of {count_text(len(rule.buffers), 'buffer')}"
    if rule.rule == "offset":
        return f"{excerpt(rule.buffer)} pinned at {rule.value}"
    size = ""
    if rule.rule == "no_cross" and problem is not None and rule.buffer is not None:
        size = f" ({problem.buffers.size[problem.index[rule.buffer]]:,} bytes)"
    return f"{rule.rule} {excerpt(rule.value)} of {excerpt(rule.buffer)}{size}"


def _list_text(texts: list[str], count: int) -> str:
    shown_ones = ", ".join(texts[:_NAMED])
    return shown_ones + (f" and {count_text(count - _NAMED, 'other')}" if count > _NAMED else "")
