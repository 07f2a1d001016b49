"""The columns of a table of regions that a search found, kinds of regions, and its counters."""

from __future__ import annotations

FOUND_FROM, FOUND_TO, FOUND_PEAK, FOUND_MACS, FOUND_TRAFFIC = 0, 1, 2, 3, 4
FOUND_RUNS, FOUND_KIND, FOUND_HEIGHT, FOUND_WIDTH, FOUND_SAVED = 5, 6, 7, 8, 9
N_FOUND = 10
KIND_WHOLE, KIND_ROWS, KIND_TILES, KIND_PANELS, KIND_CHANNELS = range(5)
COUNT, CUTS, LOST, EVALUATED = range(4)
