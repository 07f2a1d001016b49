"""Feasibility questions about changed problems: parts of a problem, and problems with fewer rules."""
