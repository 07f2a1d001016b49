"""The kind `liveness`: operations in, the problem that they pose out, with what is known of it before it is planned."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.reports.liveness_requests import LivenessAnswer, LivenessOptions, LivenessRequest, answer_request
from memplan.api.service.kinds.kind import JobKind, KindOptions, Subject
from memplan.planner.errors import OperationsError, shown
from memplan.planner.liveness.expansion import expanded_count
from memplan.planner.operations.operations import Operations, operations_from

_BRIEF = 2_000
"""The statements and buffers that are analysed in less time than it takes to find a worker."""


class LivenessKindOptions(LivenessOptions, KindOptions):
    """Options for reading lifetimes; `compare` plans the problem of each way to read them, within the time limit."""


def _read(content: Mapping[str, Any]) -> Operations:
    operations = content["operations"]
    if not isinstance(operations, dict):
        raise OperationsError(f"operations: must be an object, got {shown(operations)}")
    return operations_from(operations)


def _about(operations: Operations) -> Subject:
    written = operations.model_dump_json().encode()
    count = sum(len(function.buffers) for function in operations.functions.values())
    return Subject(
        f"sha256:{sha256(written).hexdigest()}",
        operations.name,
        count,
        len(operations.pools),
        n_expanded=expanded_count(operations),
    )


def _is_brief(subject: Subject, options: LivenessKindOptions) -> bool:
    return not options.compare and subject.n_expanded <= _BRIEF


def _run(operations: Operations, options: LivenessKindOptions, control: WorkControl) -> WorkAnswer:
    found = answer_request(operations, options, cancelled=control.cancelled, deadline=control.deadline)
    return WorkAnswer(found.model_dump_json().encode())


KIND = JobKind(
    name="liveness",
    summary="Find lifetimes",
    description=(
        "Answer with the problem that operations pose, and what it is worth to know lifetimes better."
        " Nothing is solved, unless `compare` asks for the peaks."
    ),
    fields=("operations",),
    read=_read,
    about=_about,
    run=_run,
    options=LivenessKindOptions,
    is_brief=_is_brief,
    request=LivenessRequest,
    answer=LivenessAnswer,
    example={
        "operations": {
            "functions": {
                "main": {
                    "params": ["image"],
                    "results": ["scores"],
                    "buffers": [
                        {"id": "image", "dtype": "int8", "shape": [1, 96, 96, 3]},
                        {"id": "features", "dtype": "int8", "shape": [1, 48, 48, 8]},
                        {"id": "scores", "dtype": "float32", "shape": [1, 10]},
                    ],
                    "body": [
                        {"op": "conv", "inputs": ["image"], "outputs": ["features"]},
                        {"op": "classify", "inputs": ["features"], "outputs": ["scores"]},
                    ],
                }
            }
        },
        "options": {"compare": True, "time_limit_s": 2},
    },
)
