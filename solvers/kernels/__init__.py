"""The inner loops, compiled by numba: int64 arrays in, arrays out. Nothing else imports numba."""
