"""Planners of other systems, reimplemented rule by rule for comparison and compatibility."""
