"""Solvers: bounds first, quick orders, then searches and engines, with one verifier behind them all."""
