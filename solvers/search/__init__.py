"""The state of a running search, with its incumbent and bound, and the plan or explanation made from it."""
