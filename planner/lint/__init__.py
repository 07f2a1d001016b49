"""Findings: parts of a problem or graph that are legal but probably not intended."""
