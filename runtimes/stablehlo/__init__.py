"""StableHLO: a reader of programs as MLIR text."""
