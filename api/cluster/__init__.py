"""Where hard problems are solved: worker processes, here or on many machines, over Dask distributed."""
