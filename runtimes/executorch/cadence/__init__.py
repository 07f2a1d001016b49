"""Cadence, ExecuTorch's backend for DSPs: a reader of its memory configurations, and its own planners."""
