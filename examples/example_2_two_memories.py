"""Plan two memories: place the buffers that are read and written most in the fast memory while it has room."""

from memplan import Buffer, Pool, Problem, solve

problem = Problem(
    buffers=[
        # Traffic is the number of bytes read from and written to a buffer; its default is the buffer's size.
        Buffer(id="weights", size=900, start=0, end=6, traffic=900),
        Buffer(id="input", size=400, start=0, end=2, traffic=800),
        Buffer(id="hidden", size=600, start=1, end=4, traffic=9000),
        Buffer(id="output", size=300, start=3, end=6, traffic=300),
        # Restrict the log to the memory that the DMA unit reads.
        Buffer(id="log", size=64, start=0, end=6, pools=["psram"]),
    ],
    # The cost of a pool is charged for each byte of traffic.
    pools=[Pool(name="sram", size=1024, cost=1), Pool(name="psram", size=1 << 20, cost=8)],
    objective="cost",
)
plan = solve(problem)
print(f"{plan.status}: cost {plan.cost}, and none is below {plan.cost_lower_bound}")
for placed in plan.placements:
    print(f"{placed.id:>8} in {placed.pool} at {placed.offset}")
for pool in plan.pools:
    print(f"{pool.name}: {pool.used} bytes are used")
