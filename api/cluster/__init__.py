"""The workers that solve hard problems: processes, here or on many machines, over Dask distributed."""
