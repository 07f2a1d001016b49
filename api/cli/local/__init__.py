"""The commands with flags or output files that no other entrance has."""
