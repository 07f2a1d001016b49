"""Lifetimes from operations, independent of any compiler."""

from memplan.planner.liveness.analysis import analyse, pose, problem_of, read_before_written
from memplan.planner.liveness.expansion import expand
from memplan.planner.liveness.facts import Analysis
from memplan.planner.liveness.lifetimes import Reading

__all__ = ["Analysis", "Reading", "analyse", "expand", "pose", "problem_of", "read_before_written"]
