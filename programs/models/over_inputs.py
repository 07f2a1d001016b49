"""The problem of a program, in its given order, whose operations write outputs over their inputs."""

from collections.abc import Collection
from math import lcm
from typing import Any

from memplan.planner.bounds.lower_bound import lower_bound
from memplan.planner.errors import OperationsError, OptionError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, stranger_bytes
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem, replace_fields
from memplan.programs.operations.graph_facts import ProgramFacts
from memplan.programs.operations.graph_variants import allow_overwriting
from memplan.programs.operations.in_place import input_of_output_in_order
from memplan.programs.operations.operations import Operations
from memplan.programs.operations.program_graph import program_graph
from memplan.questions.reading import Reader

_PLACED = ("offset", "relative", "no_cross")
"""The fields that forbid a buffer to be an alias, and to have an alias."""
_MOST_BUFFERS = 5_000
"""The maximum number of buffers for which the hint about in-place operations is computed, in about 0.1 s."""


def problem_in_place(problem: Problem, operations: Operations, facts: ProgramFacts, spared: Collection[str]) -> Problem:
    """Return the problem of operations in which element-wise ones overwrite inputs that no later operation reads.

    An output that overwrites an input becomes an alias of that input's buffer, which is then alive as long as either of
    them. Buffers in `spared` are not overwritten. Raises OptionError if the program lacks a spared buffer.
    """
    entry = f"{operations.entry}/"
    rows = {str(row["id"]): dict[str, Any](row) for row in map(problem.buffers.fields, range(len(problem.buffers)))}
    kept = {_buffer_id(name, entry, rows).removeprefix(entry) for name in spared}
    with stranger_bytes():
        drawn = program_graph(operations, facts)
        graph = allow_overwriting(drawn.graph, {k for k, name in enumerate(drawn.buffers) if name in kept})
        over = input_of_output_in_order(graph, range(len(graph.ops)))
    ends = [end for row in rows.values() for end in (row.get("end"), *(span[1] for span in row.get("lifetimes", ())))]
    for name in kept:
        if "end" in (row := rows[entry + name]):
            row["end"] = max(end for end in ends if end is not None)
    ruled = {str(name) for pair in (*problem.conflicts, *problem.may_share) for name in pair}
    root = {name: name for name in rows}
    # All outputs of a chain must become aliases of its first input, so visit them in the order of operations.
    for output, tensor in over.items():
        made, under = (entry + drawn.buffers[k] for k in (output, tensor))
        if made not in rows or under not in rows or {made, under} & ruled:
            continue
        below, row = rows[root[under]], rows[made]
        if any(rule in each for each in (below, row) for rule in _PLACED) or "alias_of" in row:
            continue
        if row.get("pools") == below.get("pools") and row["size"] <= below["size"]:
            root[made] = root[under]
            below["alignment"] = lcm(below.get("alignment", 1), row.pop("alignment", 1))
            row["alias_of"] = below["id"]
    for row in rows.values():  # A buffer that became an alias may have aliases, which must name its outer buffer.
        if "alias_of" in row:
            row["alias_of"] = rows[root[str(row["alias_of"])]]["id"]
    return replace_fields(problem, buffers=[*rows.values()])


def _buffer_id(name: str, entry: str, rows: dict[str, dict[str, Any]]) -> str:
    """Return the id of a buffer by name, with or without the function's prefix; raises OptionError if none has it."""
    for given in (name, entry + name):
        if given in rows:
            return str(rows[given].get("alias_of", given))
    some = ", ".join(excerpt(each) for each in [*rows][:3])
    raise OptionError.from_rule("spare", f"must name a buffer, such as {some}, got {excerpt(name)}")


def in_place_hint(problem: Problem, reader: Reader) -> str | None:
    """Return a hint about the bytes that operations in place would save, or None if they would save none."""
    model = reader.imported
    if reader.options.in_place or len(problem.pools) != 1 or len(problem.buffers) > _MOST_BUFFERS:
        return None
    least = None if model is None else bounds_in_place(model)
    if least is None or least[1] >= least[0]:
        return None
    return f"in place, {least[1]:,} bytes are alive at once, not {least[0]:,}: `memplan plan --in-place`"


def bounds_in_place(model: ImportedProblem, spared: Collection[str] = ()) -> tuple[int, int] | None:
    """Return two lower bounds on the peak in bytes, without and with operations in place; None if they are unknown."""
    try:
        both = model.problem, model.problem_in_place(tuple(spared))
    except (OperationsError, OptionError):  # A program too large for a graph, or only lifetimes: bounds are unknown.
        return None
    now, then = (instance.unit * int(lower_bound(instance).score[-1]) for instance in map(compile_problem, both))
    return now, then
