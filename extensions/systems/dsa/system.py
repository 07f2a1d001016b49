"""The registration of dsa-solver: a reader of the JSON problems that compilers for NPUs write, and a planner."""

from __future__ import annotations

import re

from memplan.planner.systems import ANY, FileReader, ReferencePlanner, System

_BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:instance|metadata|schema_version|profile)"\s*:')


def is_dsa(data: bytes) -> bool:
    """Return True if the bytes start like a problem of dsa-solver and contain the key "live_intervals"."""
    return _BEGINNING.match(data) is not None and b'"live_intervals"' in data


SYSTEM = System(
    name="dsa",
    title="dsa-solver",
    files=".json of its problems, such as PyPTO writes",
    readers=(FileReader("dsa", is_dsa, "memplan.extensions.systems.dsa.reader"),),
    planners=(
        ReferencePlanner(
            "reference:dsa-canonical-greedy",
            "in several orders, each buffer where it pays least, at 0 or on a neighbour (dsa-solver)",
            "tonibohnlein/dsa-solver a8d1257, src/dsa/algorithms/reuse_penalty_baseline_solvers.cpp",
            "memplan.extensions.systems.dsa.canonical_greedy:canonical_greedy",
            can=ANY | {"pools", "conflicts", "holes", "reserved", "reuse"},
            other_names="dsa-rp pypto reuse-penalty",
        ),
    ),
)
