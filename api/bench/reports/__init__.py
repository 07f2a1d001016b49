"""Summaries, comparisons and reports of benchmark results."""
