"""Programs in which operations run again instead of keeping what they make: the search behind `order --recompute`."""

from memplan.capabilities import Search

SEARCH = Search("memplan_recompute.frontier:recompute")
