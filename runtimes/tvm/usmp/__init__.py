"""Reimplementations of the planners of TVM's unified static memory planner (USMP)."""
