"""Feasibility of changed problems: a subset of the buffers, or fewer rules, decided within one deadline."""
