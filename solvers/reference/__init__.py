"""Other systems' planners, rule by rule: to compare with, and to be compatible with."""
