"""Plan by a solver of your own: memplan runs it in a process of its own, and verifies what it returns.

A function takes a problem and the seconds that it has, and returns an offset for each buffer. On the command line it is
`memplan plan FILE --solver example_5_own_solver:first_fit`. In a package of its own it is `examples/plugin/`.
"""

from pathlib import Path

from memplan import Problem, read_problem, solve


def first_fit(problem: Problem, time_limit_s: float) -> list[int]:
    """Put each buffer, the largest first, to the lowest offset that is free during its lifetime."""
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
