"""Lifetimes from operations: what is alive when, apart from any compiler."""

from planner.liveness.analysis import analyse, problem_of
from planner.liveness.facts import Analysis
from planner.liveness.lifetimes import Reading

__all__ = ["Analysis", "Reading", "analyse", "problem_of"]
