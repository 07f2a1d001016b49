"""The analysis of buffer lifetimes from the operations of a program, independent of any compiler."""

from memplan.programs.lifetimes.analysis import analyse, problem_of, problem_of_timeline, read_before_written
from memplan.programs.lifetimes.expansion import expand
from memplan.programs.lifetimes.facts import Analysis
from memplan.programs.lifetimes.lifetimes import Reading

__all__ = ["Analysis", "Reading", "analyse", "expand", "problem_of_timeline", "problem_of", "read_before_written"]
