"""Kinds of jobs about plans that were made before."""
