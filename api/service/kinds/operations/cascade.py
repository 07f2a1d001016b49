"""The kind `cascade`: a graph of operations in, the front of peaks and multiplications of its cascades out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic_core import to_json

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.reports.cascades import facts
from memplan.api.service.kinds.kind import JobKind, KindOptions
from memplan.api.service.kinds.operations.graphs import graph_of, graph_subject
from memplan.planner.model.rows import MAX_BYTES
from memplan.planner.operations.graph import OperationGraph
from memplan.solvers.cascade.options import CascadeOptions
from memplan.solvers.cascade.points import CascadePoint
from memplan.solvers.cascade.solve import cascade

_ANSWER_S = 0.5
"""The seconds of the time limit that are kept for the plans of the last points, and for the answer."""


class CascadeKindOptions(KindOptions):
    """Options of a search for cascades, as `memplan cascade` has them.

    `fit` is the most bytes of a point, `macs` the most multiplications, as a multiple of those layer by layer. `check`
    executes the points by value.
    """

    input: Literal["resident", "streamed"] = "resident"
    output: Literal["resident", "streamed"] = "resident"
    overlap: Literal["none", "sliding"] = "none"
    alignment: int = 1
    brick: Annotated[int, Field(ge=1, le=1 << 20)] = 1
    fit: Annotated[int, Field(ge=0, le=MAX_BYTES)] | None = None
    macs: Annotated[float, Field(ge=1, le=1000, allow_inf_nan=False)] | None = None
    check: bool = False

    @property
    def search(self) -> CascadeOptions:
        """The options of the search; raises OptionError."""
        return CascadeOptions(
            input=self.input,
            output=self.output,
            sliding=self.overlap == "sliding",
            alignment=self.alignment,
            fit=self.fit,
            macs=self.macs,
        )


class CascadeAnswer(BaseModel):
    """The points by falling peak, each a verified plan whose regions are told; sizes are in bytes."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str | None
    conventions: dict[str, Any]
    layers_peak: int
    layers_macs: int
    layers_traffic: int
    points: tuple[dict[str, Any], ...]
    barriers: tuple[dict[str, Any], ...]
    exhausted: dict[str, Any]
    wall_time_s: float


def _run(graph: OperationGraph, options: CascadeKindOptions, control: WorkControl) -> WorkAnswer:
    def tell(point: CascadePoint) -> None:
        control.tell({"peak": point.peak, "macs": point.macs, "macs_ratio": round(point.macs_ratio, 6)})

    left_s = max(0.0, control.deadline.left_s)
    found = cascade(
        graph,
        options.search,
        brick=options.brick,
        check=options.check,
        time_limit_s=max(left_s / 2, left_s - _ANSWER_S),
        cancelled=control.cancelled,
        on_point=tell,
    )
    return WorkAnswer(to_json(facts(found)) + b"\n", "feasible" if found.points else None)


def _check(options: CascadeKindOptions) -> None:
    """Raise OptionError for options that no search has."""
    _ = options.search


def _example() -> dict[str, Any]:
    image, features, scores = {"shape": [1, 26, 26, 3]}, {"shape": [1, 24, 24, 32]}, {"shape": [1, 24, 24, 8]}
    first = {"in": [0], "out": [1], "kind": "conv2d", "attributes": {"kernel": [3, 3]}}
    second = {"in": [1], "out": [2], "kind": "conv2d", "attributes": {"kernel": [1, 1]}}
    tensors = [{**tensor, "dtype": "int8"} for tensor in (image, features, scores)]
    graph = {"size": [2028, 18432, 4608], "kept": [2], "tensors": tensors, "ops": [first, second]}
    return {"graph": graph, "options": {"time_limit_s": 5, "input": "streamed", "macs": 1.1}}


KIND = JobKind(
    name="cascade",
    summary="Run operations in stripes",
    description=(
        "Answer with programs in which operations run in stripes, each one a verified plan: the front of their peaks"
        " and their multiplications. The events of a job tell each point when it is planned."
    ),
    fields=("graph",),
    read=graph_of,
    about=graph_subject,
    run=_run,
    check=_check,
    options=CascadeKindOptions,
    request=create_model("CascadeRequest", graph=OperationGraph, options=(CascadeKindOptions, CascadeKindOptions())),
    answer=CascadeAnswer,
    example=_example(),
)
