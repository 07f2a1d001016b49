"""Plan with your own solver: memplan runs it in a separate process and verifies its plan.

A solver is a function that takes a problem and a time limit in seconds, and returns an offset for each buffer. On the
command line, select it with `memplan plan FILE --solver example_5_own_solver:first_fit`. `examples/plugin/` shows a
solver in a package.
"""

from pathlib import Path

from memplan import Problem, read_problem, solve


def first_fit(problem: Problem, time_limit_s: float) -> list[int]:
    """Return offsets: buffers are placed by decreasing size, each at the lowest offset free during its lifetime."""
    buffers, offsets = problem.buffers, dict[int, int]()
    for i in sorted(range(len(buffers)), key=lambda k: -buffers[k].size):
        one, lowest = buffers[i], 0
        beside = [k for k in offsets if buffers[k].start < one.end and one.start < buffers[k].end]
        for k in sorted(beside, key=offsets.__getitem__):
            if offsets[k] - lowest >= one.size:
                break
            lowest = max(lowest, offsets[k] + buffers[k].size)
            lowest += -lowest % one.alignment
        offsets[i] = lowest
    return [offsets[i] for i in range(len(buffers))]


if __name__ == "__main__":
    problem = read_problem(Path(__file__).with_name("mobilenet_v2.csv"))
    own = solve(problem, solver="example_5_own_solver:first_fit")
    best = solve(problem)
    print(f"first fit: {own.peak} bytes, {own.status}; memplan: {best.peak} bytes, {best.status}")
