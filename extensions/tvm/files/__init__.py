"""Readers of TVM's graphs and Relax programs, and reimplementations of its memory planners."""
