"""Solvers: bounds, packing in quick orders, searches and engines, all of whose plans one verifier checks."""
