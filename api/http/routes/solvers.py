"""`GET /v1/solvers`: what is installed, and what each can do."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from memplan.api.http.auth.gate import may
from memplan.api.reports.solver_facts import SolverFacts, solver_facts

router = APIRouter()


class SolverList(BaseModel):
    """All solvers; `auto` is the portfolio of those that suit a problem, without those of other systems."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    solvers: list[SolverFacts]


@router.get("/v1/solvers", summary="List the solvers", dependencies=[may("read")])
async def solvers() -> SolverList:
    """Answer with what each solver can do; `at_most` is the number of buffers that `auto` tries it on."""
    return SolverList(solvers=solver_facts())
