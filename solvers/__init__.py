"""Solvers: bounds first, then quick orders, searches and engines, all checked by one verifier."""
