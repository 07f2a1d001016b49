"""Benchmarks: suites of instances, runs in processes of their own, results as rows, reports and comparisons."""
