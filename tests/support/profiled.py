"""A problem whose profiles differ: `speed` puts y into the fast pool, `size` leaves that pool empty (100 bytes)."""

_ROWS = [{"id": "x", "size": 100, "start": 0, "end": 1}, {"id": "y", "size": 64, "start": 1, "end": 2}]
PROFILED = {"buffers": _ROWS, "pools": [{"name": "fast", "size": 64}, {"name": "slow"}]}
POOL_OF_Y = {"speed": "fast", "balanced": "fast", "size": "slow"}
