"""One content hash for all spellings of a problem."""

from __future__ import annotations

from planner.problem import Problem


def problem_hash(problem: Problem) -> str:
    """Return `sha256:…`."""
    return "sha256:"
