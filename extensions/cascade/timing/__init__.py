"""The latency of regions on a target: each visit (loop iteration) is simulated with memories, links and engine."""
