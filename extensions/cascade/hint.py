"""The hint for a model without a fitting plan: a cascade (operations in stripes) with which the model would fit."""

from memplan.extensions.cascade.cascade import CascadeOptions, cascade
from memplan.planner.errors import InputError
from memplan.planner.foreign.reading import detect
from memplan.planner.model.problem import Problem
from memplan.programs.models.model_graph import read_model_graph
from memplan.questions.reading import Reader

_LIMIT_S = 5.0


def cascade_hint(problem: Problem, reader: Reader, limit_s: float = _LIMIT_S) -> str | None:
    """Return a sentence on the cheapest cascade that makes a model fit its pool, found with a verified plan.

    Return None for files other than models, for several pools, for a pool of unlimited size, and if time runs out.
    """
    size = problem.pools[0].size if len(problem.pools) == 1 else None
    if size is None or detect(reader.data, reader.name) is None:
        return None
    alignment = int(problem.buffers.alignment.max(initial=1))
    try:
        graph = read_model_graph(reader.data, reader.name, reader.options).graph
        answer = cascade(graph, CascadeOptions(fit=size, alignment=alignment, time_limit_s=min(limit_s, _LIMIT_S)))
    except InputError:
        return None
    if not answer.points:
        return None
    point = answer.points[0]
    more = f"{100 * (point.macs_ratio - 1):+.1f} % MACs"
    return f"with cascades {point.peak:,} bytes at {more}: `memplan cascade --fit {size}`"
