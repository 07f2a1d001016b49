"""The plan service: admission, quick solves, and the cache of plans."""
