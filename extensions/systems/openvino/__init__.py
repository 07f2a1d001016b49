"""OpenVINO: the planner of its CPU plug-in."""
