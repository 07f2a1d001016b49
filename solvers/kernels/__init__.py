"""The inner loops, compiled: tables of int64 arrays in, arrays filled. Only `abi.py` imports numba and llvmlite."""
