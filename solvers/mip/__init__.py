"""The integer program of the planning documents, written once, and the engines that it is handed to."""

from __future__ import annotations

from memplan.planner.instance.instance import PLAIN

HONOURED = frozenset(PLAIN) | {"relative", "together", "clearances", "reuse"}
"""The features that the program states: those of the planning documents, fixed distances, and prices of pairs."""
