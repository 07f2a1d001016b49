"""The library of problems: what is known of each, checked without memplan; submissions; runs of anybody's planner."""
