"""`memplan fits` for a ggml graph: whether its weights and a plan of all other tensors fit a capacity."""

from collections.abc import Iterator

from memplan.planner.errors import FormatError
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import detect, read_model
from memplan.planner.model.sizes import size_text
from memplan.programs.models.imported_program import ImportedProgram
from memplan.questions.question import Answer
from memplan.questions.reading import validate_options
from memplan.solvers.portfolio.solve import solve


class GraphFits(Answer):
    """The answer whether a graph fits, and why; sizes are in bytes.

    `weights` are in memory all the time. `peak` is the peak of a verified plan of computed values and state, summed
    over memories; `lower_bound` is the number of bytes that every such plan needs. `own_peak` is the peak of ggml's own
    plan, if the file records one for this size. `pools` gives the used bytes of each memory. `fits` is None if no
    capacity is given, or if a better plan may still fit.
    """

    fits: bool | None
    proof: str
    capacity: int | None
    weights: int
    peak: int | None
    lower_bound: int | None
    own_peak: int | None
    pools: dict[str, int]


def is_graph(data: bytes) -> bool:
    """Return True if the bytes are the file of a ggml graph."""
    return detect(data) == "ggml"


def fits_of_graph(data: bytes, capacity: int | None, dims: list[str]) -> GraphFits:
    """Decide if the weights and a plan of a ggml graph fit a capacity; raises FormatError for other files."""
    if not is_graph(data):
        raise FormatError("must be a ggml graph, because --dim applies to ggml graphs only")
    model = read_model(data, options=validate_options(ModelOptions, {"dims": dims}))
    assert isinstance(model, ImportedProgram)
    program = next(iter(model.operations.functions.values()))
    sizes = {row.id: row.size for row in program.buffers}
    weights = sum(sizes[name] or 0 for name in program.constants)
    plan = solve(model.problem)
    fits, proof = None, "no capacity is given"
    if capacity is not None:
        room = f"{size_text(capacity)}, with {size_text(weights)} of weights"
        fits, proof = (
            None,
            f"open: the plan needs {plan.peak or 0:,} bytes, and none is below {plan.lower_bound or 0:,}",
        )
        if plan.peak is not None and weights + plan.peak <= capacity:
            fits, proof = True, f"planned: one of {size_text(plan.peak)}, verified, within {room}"
        elif weights + (plan.lower_bound or 0) > capacity:
            fits, proof = (
                False,
                f"proved: no plan is below {plan.lower_bound or 0:,} bytes, more than is left of {room}",
            )
    return GraphFits(
        fits=fits,
        proof=proof,
        capacity=capacity,
        weights=weights,
        peak=plan.peak,
        lower_bound=plan.lower_bound,
        own_peak=model.own_peak,
        pools={use.name: use.used for use in plan.pools},
    )


def terminal_lines(answer: GraphFits) -> Iterator[str]:
    """Yield the lines that the terminal shows for an answer."""
    text = {True: "fits", False: "does not fit", None: "open"}[answer.fits]
    yield f"{text}: {answer.proof}"
    rows = [("weights", answer.weights), ("planned peak", answer.peak), ("lower bound", answer.lower_bound)]
    rows += [(f"in {name}", used) for name, used in answer.pools.items()] if len(answer.pools) > 1 else []
    for name, size in (*rows, ("ggml's own", answer.own_peak), ("capacity", answer.capacity)):
        if size is not None:
            yield f"{name:<14}{size:>20,} bytes  {size_text(size):>10}"
