"""Plan two memories: place the buffers that are accessed most in the fast memory, as far as it has space."""

from memplan import Buffer, Pool, Problem, solve

problem = Problem(
    buffers=[
        # `traffic` is the number of bytes read from and written to a buffer; by default, it is the buffer's size.
        Buffer(id="weights", size=900, start=0, end=6, traffic=900),
        Buffer(id="input", size=400, start=0, end=2, traffic=800),
        Buffer(id="hidden", size=600, start=1, end=4, traffic=9000),
        Buffer(id="output", size=300, start=3, end=6, traffic=300),
        # The DMA unit reads the log from only one memory, so restrict the log to this memory.
        Buffer(id="log", size=64, start=0, end=6, pools=["psram"]),
    ],
    # Each byte of traffic costs as much as the `cost` of the pool in which its buffer is.
    pools=[Pool(name="sram", size=1024, cost=1), Pool(name="psram", size=1 << 20, cost=8)],
    objective="cost",
)
plan = solve(problem)
print(f"{plan.status}: cost {plan.cost}, and none is below {plan.cost_lower_bound}")
for placed in plan.placements:
    print(f"{placed.id:>8} in {placed.pool} at {placed.offset}")
for pool in plan.pools:
    print(f"{pool.name}: {pool.used} bytes are used")
