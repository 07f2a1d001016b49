"""Readers of TVM's executor graphs and Relax programs, and TVM's memory planners, reimplemented; none needs TVM."""
