"""Recomputation: the search behind `order --recompute` for programs that run operations again."""

from memplan.capabilities import Search

SEARCH = Search("memplan_recompute.frontier:recompute")
