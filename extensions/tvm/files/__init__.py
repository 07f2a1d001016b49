"""Graphs of TVM, and Relax."""
