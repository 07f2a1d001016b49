"""Other systems' planners, reimplemented rule by rule for comparison and compatibility."""
