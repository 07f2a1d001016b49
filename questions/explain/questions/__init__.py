"""Feasibility queries about changed problems: a subset of the buffers or of the rules, within one deadline."""
