"""Vela, the compiler of Ethos-U: its own planner."""
