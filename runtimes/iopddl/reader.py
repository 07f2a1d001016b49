"""Reader of IOPDDL problems: nodes with lifetimes and several strategies each; a solution chooses one per node.

```
{"problem": {"name": "example", "nodes": {"intervals": [[0, 40], [0, 90]], "costs": [[15, 20], [10]],
 "usages": [[10, 5], [25]]}, "edges": {"nodes": [], "costs": []}, "usage_limit": 50}, "solution": [1, 0]}
```

A node is read as a buffer whose size is the memory usage of one strategy: the strategy in the solution, else the one
with the least usage. The contest limits only the sum of usages at any time; here, that limit is the size of the pool.
Costs of nodes and edges are ignored. Source: google/iopddl; asplos-contest/2025.
"""

from typing import Any

from memplan.planner.errors import FormatError
from memplan.planner.foreign.imported import ImportedProblem, refuse_dims
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.formats.memplan_json import parse
from memplan.planner.model.problem import Problem


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read an IOPDDL problem. Raises FormatError or ProblemError, and OptionError if the options give dimensions."""
    refuse_dims(options, "problems of IOPDDL")
    fields: Any = parse(data)
    try:
        value = fields["problem"]
        intervals, usages = value["nodes"]["intervals"], value["nodes"]["usages"]
        chosen = fields.get("solution") or [row.index(min(row)) for row in usages]
        rows = [
            {"id": f"node {k}", "size": usages[k][way], "start": start, "end": end, "alignment": options.alignment or 1}
            for k, (way, (start, end)) in enumerate(zip(chosen, intervals, strict=True))
            if start < end
        ]
        pools = [{"name": "default", "size": value.get("usage_limit")}]
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise FormatError(
            f"problem: must be an IOPDDL problem, with intervals and usages of its nodes: {error}"
        ) from error
    return ImportedProblem(Problem.model_validate({"name": value.get("name"), "buffers": rows, "pools": pools}))
