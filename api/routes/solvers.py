"""`GET /v1/solvers`: what is installed, and what each can do."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from solvers.registry import SOLVERS

router = APIRouter()


class SolverFacts(BaseModel):
    """A solver: the features of problems that it honours, and whether it ever proves that a plan is the best."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    summary: str
    installed: bool
    can: list[str]
    needs: list[str]
    proves: bool
    at_most: int | None


class SolverList(BaseModel):
    """All solvers; `auto` is the ladder of those that suit a problem."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    solvers: list[SolverFacts]


@router.get("/v1/solvers", summary="List the solvers")
async def solvers() -> SolverList:
    """Answer with what each solver can do; `at_most` is the number of buffers that `auto` tries it on."""
    return SolverList(
        solvers=[
            SolverFacts(
                name=row.name,
                summary=row.summary,
                installed=row.is_installed,
                can=sorted(row.can),
                needs=list(row.needs),
                proves=row.proves,
                at_most=row.at_most,
            )
            for row in SOLVERS
        ]
    )
