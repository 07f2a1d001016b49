"""The latency of regions on a target, from a simulation of each visit (loop iteration) of the regions' loops."""
