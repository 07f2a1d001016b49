"""Readers of TVM's executor graphs and Relax programs, and reimplementations of TVM's memory planners."""
