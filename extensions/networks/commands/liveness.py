"""The problem file that `memplan liveness` writes."""

from __future__ import annotations

from memplan.api.cli.from_capability import CommandExtras, Invocation
from memplan.extensions.networks.liveness.liveness import LivenessAnswer
from memplan.files import write_problem


def _problem(_call: Invocation, answer: LivenessAnswer, path: str) -> bytes:
    """Return the problem alone, for other commands to read."""
    return write_problem(answer.problem, format="csv" if path.lower().endswith(".csv") else "json")


LOCAL = CommandExtras(forms={".json": _problem, ".csv": _problem, "": _problem}, says_lines=True)
