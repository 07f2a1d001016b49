"""Plan a list of buffers: give each an offset, use as few bytes as possible, and prove that this is the minimum."""

from memplan import Buffer, Problem, solve, verify

problem = Problem(
    buffers=[
        # A buffer has a size in bytes, the first step in which it is used, and the first step after its last use.
        Buffer(id="input", size=64, start=0, end=2),
        Buffer(id="conv1", size=96, start=1, end=3, alignment=32),
        Buffer(id="conv2", size=96, start=2, end=4),
        Buffer(id="output", size=32, start=3, end=5),
    ]
)
plan = solve(problem, time_limit_s=2)
print(f"{plan.status}: {plan.peak} bytes, and no plan has fewer than {plan.lower_bound}")
for placed in plan.placements:
    print(f"{placed.id:>8} at {placed.offset}")

# The verifier shares no code with the solvers, so it checks the plan independently.
assert verify(problem, plan).valid
