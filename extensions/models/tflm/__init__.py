"""TFLite Micro: its planner, written anew."""
