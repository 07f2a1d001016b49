"""Plan a list of buffers: assign an offset to each, use as few bytes as possible, and prove the minimum."""

from memplan import Buffer, Problem, solve, verify

problem = Problem(
    buffers=[
        # Give the size in bytes, the first step in which the buffer is in use, and the first step after its last use.
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

# Check the plan with the verifier, which shares no code with the solvers.
assert verify(problem, plan).valid
