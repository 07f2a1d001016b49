"""The plan service: admission, quick solves, and the plan cache."""
