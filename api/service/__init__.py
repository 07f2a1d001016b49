"""The plan service: admission, quick solves, shared searches, and the cache of plans."""
