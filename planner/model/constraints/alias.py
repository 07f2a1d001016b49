"""`alias_of`: a buffer that is inside another one."""

from memplan.planner.errors import buffer_name_rule, excerpt
from memplan.planner.model.constraints.kept import Breaks, cyclic_buffers
from memplan.planner.model.problem_fields import ProblemFields


def unknown_names(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each alias whose containing buffer is unknown."""
    for i, (name, _) in problem.buffers.aliases.items():
        if name not in problem.index:
            yield ("buffers", i, "alias_of"), buffer_name_rule(name)


def contradictions(problem: ProblemFields) -> Breaks:
    """Yield a broken rule for each alias that ends outside the buffer it names, or that is on a cycle of aliases."""
    size, aliases = problem.buffers.size, problem.buffers.aliases
    for i, (name, distance) in aliases.items():
        bytes_there, end = int(size[problem.index[name]]), distance + int(size[i])
        if end > bytes_there:
            rule = f"must end inside {excerpt(name)} ({bytes_there} bytes), got an end at {end}"
            yield ("buffers", i, "alias_offset"), rule
    for i in cyclic_buffers({i: problem.index[name] for i, (name, _) in aliases.items()}):
        yield ("buffers", i, "alias_of"), f"must not lead back to itself, got {excerpt(aliases[i][0])}"
