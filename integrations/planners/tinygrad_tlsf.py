"""`python tinygrad_tlsf.py < inputs`: as planners.cpp, with tinygrad's TLSFAllocator as its planner calls it."""

import sys

from tinygrad.runtime.support.memory import TLSFAllocator

for line in sys.stdin:
    fields = [int(field) for field in line.split()]
    sizes = [-(-size // 256) * 256 for size in fields[::3]]
    events = [(start, True, k) for k, start in enumerate(fields[1::3])]
    events += [(end, False, k) for k, end in enumerate(fields[2::3])]
    allocator = TLSFAllocator(2 * sum(sizes), block_size=256, lv2_cnt=32)
    offsets = [0] * len(sizes)
    for _, starts, k in sorted(events):
        if starts:
            offsets[k] = allocator.alloc(sizes[k])
        else:
            allocator.free(offsets[k])
    print(*offsets)
