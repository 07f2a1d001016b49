"""Analysis of buffer lifetimes from the operations of a program, independent of any compiler."""

from memplan.extensions.networks.lifetimes.analysis import analyse, pose, problem_of, read_before_written
from memplan.extensions.networks.lifetimes.expansion import expand
from memplan.extensions.networks.lifetimes.facts import Analysis
from memplan.extensions.networks.lifetimes.lifetimes import Reading

__all__ = ["Analysis", "Reading", "analyse", "expand", "pose", "problem_of", "read_before_written"]
