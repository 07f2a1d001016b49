"""Recomputation: the search of `order --recompute` for programs that run operations again."""

from memplan.questions import Search

SEARCH = Search("memplan.extensions.recompute.frontier:recompute")
