"""A reimplementation of TFLite Micro's planner."""
