"""`GET /healthz`: the process answers. `GET /readyz`: it can solve and store."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict

from memplan.api.http.app_state import Service
from memplan.api.http.problem_details import error_answers, problem_details
from memplan.planner import __version__

router = APIRouter()


class Health(BaseModel):
    """A server that is well, and its version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Literal["ok"] = "ok"
    version: str = __version__


@router.get("/healthz", summary="Is it alive")
async def healthz() -> Health:
    """Answer at once."""
    return Health()


@router.get("/readyz", summary="Can it work", response_model=Health, responses=error_answers(503))
async def readyz(request: Request) -> Health | Response:
    """Answer whether it can solve and store: it tries both, and keeps what it found for a few seconds."""
    if lacks := await Service.of(request).readiness.lacks():
        return problem_details(503, lacks, {"Retry-After": "1"})
    return Health()
