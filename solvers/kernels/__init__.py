"""The inner loops, compiled: tables of int64 arrays in, arrays filled. Only `compiling.py` imports numba."""
