"""The kind `what-if`: a problem in, what each buffer, pool and rule is worth out."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, create_model
from pydantic_core import to_json

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.service.kinds.bodies import problem_of, problem_subject
from memplan.api.service.kinds.kind import JobKind, KindOptions
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES
from memplan.solvers.studies.what_if.values import WhatIf
from memplan.solvers.studies.what_if.what_if import MORE, WHAT_IF_S, WhatIfOptions, what_if


class WorthOptions(KindOptions):
    """Options of what if: the seconds in all, those of them that are kept for the questions, and what is asked.

    `shrunk_to` asks for each buffer at this part of its size, too; `more` is the bytes of a pool whose worth is asked.
    """

    ask_s: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = WHAT_IF_S
    shrunk_to: Annotated[float, Field(gt=0, lt=1)] | None = None
    more: Annotated[int, Field(gt=0, lt=MAX_BYTES)] = MORE
    deterministic: bool = False


def _run(problem: Problem, options: WorthOptions, control: WorkControl) -> WorkAnswer:
    left_s = options.time_limit_s if options.deterministic else max(0.02, control.deadline.left_s)
    ask_s = min(options.ask_s, left_s / 2)

    def tell(done: int, of: int) -> None:
        control.tell({"buffers_done": done, "buffers": of})

    chosen = WhatIfOptions(
        ask_s,
        shrunk_to=options.shrunk_to,
        more=options.more,
        cancelled=control.cancelled,
        on_progress=tell,
        deterministic=options.deterministic,
    )
    found = what_if(problem, solve_time_limit_s=left_s - ask_s, options=chosen)
    return WorkAnswer(to_json(found) + b"\n", found.status)


def _example() -> dict[str, Any]:
    rows = [
        {"id": "conv1", "size": 64, "start": 0, "end": 3},
        {"id": "conv2", "size": 48, "start": 2, "end": 5},
    ]
    return {"problem": {"buffers": rows}, "options": {"time_limit_s": 5}}


KIND = JobKind(
    name="what-if",
    summary="Tell what single changes are worth",
    description="Answer with what each buffer, pool and rule of a problem is worth, against its best plan.",
    fields=("problem",),
    read=problem_of,
    about=problem_subject,
    run=_run,
    options=WorthOptions,
    request=create_model("WhatIfRequest", problem=Problem, options=(WorthOptions, WorthOptions())),
    answer=WhatIf,
    example=_example(),
)
