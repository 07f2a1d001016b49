"""The lists of constraint kinds: what a problem is checked for, what an instance is made of, what lint looks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from memplan.planner.model.constraints import (
    alias,
    bank,
    conflicts,
    forbid_pools,
    may_share,
    no_cross,
    relative,
    together,
)
from memplan.planner.model.constraints.kept import Breaks, KeptBuffers
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem_fields import ProblemFields

CHECKS: tuple[tuple[Callable[[ProblemFields], Breaks], ...], ...] = (
    (
        alias.unknown_names,
        relative.unknown_names,
        forbid_pools.unknown_names,
        conflicts.unknown_names,
        may_share.unknown_names,
        bank.unknown_names,
        together.unknown_names,
    ),
    (forbid_pools.no_pool_left, bank.too_many_pairs),
    (alias.contradictions,),
    (relative.contradictions,),
    (conflicts.contradictions, may_share.contradictions, bank.contradictions),
)
"""Checks of a problem, in stages: each stage relies on what those before it have found to be sound."""

COLUMNS: tuple[Callable[[KeptBuffers], dict[str, Any]], ...] = (
    conflicts.columns,
    may_share.columns,
    bank.columns,
    relative.columns,
    together.columns,
    no_cross.columns,
)
"""Makers of an instance's columns, in bytes, by name."""

FINDINGS: tuple[Callable[[ProblemFields], Iterator[Finding]], ...] = (
    may_share.long_sharing,
    relative.views_that_cut_each_other,
    bank.idle_banks,
)
"""Rules of lint."""
