"""The capability `what-if`: the worth of single changes to a problem."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from memplan.capabilities.capability import Capability, Control, SearchOptions, Seconds
from memplan.capabilities.explain import what_if as study
from memplan.capabilities.explain.reasons.sentences import rule_text
from memplan.capabilities.explain.what_if.values import WhatIf
from memplan.capabilities.explain.what_if.what_if import MORE, WHAT_IF_S
from memplan.capabilities.inputs import EXAMPLE, PROBLEM
from memplan.planner.errors import shown
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES

_ROWS = 20
"""The most buffers in a table for people."""


class WhatIfOptions(SearchOptions):
    """Options of what-if."""

    ask_s: Seconds = Field(WHAT_IF_S, description="Of these, the seconds for the questions.")
    shrunk_to: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None, description="Each buffer at this part of its size, too: 0.5."
    )
    more: Annotated[int, Field(gt=0, lt=MAX_BYTES)] = Field(MORE, description="Bytes of a pool whose worth is wanted.")


def what_if(problem: Problem, options: WhatIfOptions = WhatIfOptions(), control: Control = Control()) -> WhatIf:
    """Find what single changes are worth: each buffer dropped or grown, more bytes of a pool, each rule left out.

    Worth is counted against the best plan, in bytes of its peak, as an interval that is a point where it is exact.
    """
    running = control.begun(options)
    ask_s = min(options.ask_s, running.left_s / 2)
    questions = study.what_if.WhatIfOptions(
        ask_s,
        shrunk_to=options.shrunk_to,
        more=options.more,
        cancelled=running.cancelled,
        on_progress=lambda done, of: running.report({"buffers_done": done, "buffers": of}),
        deterministic=options.deterministic,
    )
    return study.what_if.what_if(problem, solve_time_limit_s=running.left_s - ask_s, options=questions)


def lines(found: WhatIf) -> Iterator[str]:
    """Yield the rows of a table for people: the buffers that are worth most, then pools and rules."""
    yield f"{found.status}: peak {found.peak or 0:,} bytes"
    yield f"{'buffer':<24}{'size':>16}{'if dropped':>16}{'may grow':>16}"
    for row in sorted(found.buffers, key=lambda row: (-row.gain_if_dropped[0], row.may_grow or 0))[:_ROWS]:
        grow = "" if row.may_grow is None else f"{row.may_grow:,}"
        least = "" if row.exact else " or more"
        yield f"{shown(row.id):<24}{row.size:>16,}{row.gain_if_dropped[0]:>16,}{grow:>16}{least}"
    if len(found.buffers) > _ROWS:
        yield f"and {len(found.buffers) - _ROWS} others"
    for pool in found.pools:
        least = "" if pool.exact else " or more"
        yield f"{pool.more:,} bytes more in pool {shown(pool.pool)}: {pool.gain[0]:,.12g}{least}"
    for rule in found.rules:
        yield f"without {rule_text(rule.rule)}: {rule.gain[0]:,}{'' if rule.exact else ' or more'}"


CAPABILITY = Capability(
    what_if,
    inputs=(PROBLEM,),
    lines=lines,
    exit_status=lambda found: 1 if found.peak is None else 0,
    exits={0: "there is a plan to compare with", 1: "there is none"},
    example={"problem": EXAMPLE, "options": {"time_limit_s": 5}},
)
