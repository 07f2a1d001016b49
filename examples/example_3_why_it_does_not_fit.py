"""Find out why a problem does not fit, and which small changes would make it fit."""

from memplan import Buffer, Pool, Problem, explain, solve

problem = Problem(
    buffers=[
        Buffer(id="input", size=64, start=0, end=2),
        Buffer(id="conv1", size=96, start=1, end=3),
        Buffer(id="conv2", size=96, start=2, end=4),
        Buffer(id="output", size=32, start=3, end=5),
    ],
    pools=[Pool(name="sram", size=160)],
)
assert solve(problem).status == "infeasible"  # It is proved that no plan exists.

answer = explain(problem, repairs=3)
reason = answer.explanation
print(reason.message)
print(f"the buffers in the way: {', '.join(map(str, reason.buffers))}; {reason.would_do.size} bytes would do")
for repair in answer.repairs.repairs:
    changes = " and ".join(f"{change.kind} of {', '.join(map(str, change.buffers))}" for change in repair.changes)
    print(f"repair {repair.rank}: {changes}; then the peak is {repair.peak_after} bytes")
