"""Planners of other systems, reimplemented rule by rule for comparisons and compatibility."""
