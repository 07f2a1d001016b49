"""Vela, the compiler for Arm's Ethos-U: its own planner."""
