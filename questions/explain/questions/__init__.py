"""Feasibility queries about changed problems, which have only some buffers or rules, within one deadline."""
