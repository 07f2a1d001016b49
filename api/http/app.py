"""The service, as an ASGI app: `memplan serve` and the container run it."""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import cast

from anyio import to_thread
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from memplan.api.cluster.cluster import WorkersAt
from memplan.api.http.app_state import Service
from memplan.api.http.auth.gate import PlainRoute
from memplan.api.http.middleware import Direct, Envelope
from memplan.api.http.openapi.capability_schemas import MODELS
from memplan.api.http.openapi.schemas import add_schemas
from memplan.api.http.problem_details import add_error_answers
from memplan.api.http.routes import batch, health, job_contents, jobs, metrics, page, plan, plans, questions, solvers
from memplan.api.readiness import warm_up
from memplan.api.settings import Settings, read_settings
from memplan.planner import __version__

_DESCRIPTION = "A pool and an offset for every buffer, with a proof or an honest gap, on time, verified."

_TURN_S = 0.001
"""The time after which a thread that works lets the event loop go on, if it waits."""
_COLLECTED_AT = 10_000, 20, 20
"""The thresholds of Python's collector, which holds all threads: full collections, of some 10 ms each, are to be rare,
as what cycles there are is mostly young.
"""


def create_app(settings: Settings | None = None, workers: WorkersAt | None = None) -> FastAPI:
    """Make the service; its settings come from the environment unless they are given. Raises OptionError.

    `workers` are those of the parent, for one of several server processes.
    """
    app = _App(
        title="memplan",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=_lifespan,
        docs_url=None,  # those pages fetch scripts from elsewhere; `routes/page.py` has one of our own
        redoc_url=None,
    )
    service = app.state.service = Service(settings or read_settings(), workers)
    for module in (plan, plans, questions, jobs, job_contents, batch, solvers, health, metrics, page):
        app.include_router(module.router)
    add_error_answers(app)
    timeout_s = service.settings.body_timeout_s
    app.add_middleware(Envelope, metrics=service.metrics, bodies=service.bodies, body_timeout_s=timeout_s)
    app.direct = Direct(cast(PlainRoute, plan.router.routes[0]), "POST")
    app.enveloped = Envelope(app.direct, service.metrics, service.bodies, timeout_s)
    add_schemas(app, MODELS)
    return app


class _App(FastAPI):
    """FastAPI's app, but for the calls asked for most, which pass none of its layers: these take a tenth of a hit."""

    direct: Direct
    enveloped: Envelope

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on, as ASGI has it."""
        if self.direct.takes(scope):
            scope["app"] = self
            await self.enveloped(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open what the service stands on, and make it ready before the first request; close it after the last."""
    service: Service = app.state.service
    async with AsyncExitStack() as stack:
        await service.open(stack)
        await to_thread.run_sync(warm_up)  # so that no request waits for what is loaded once
        gc.collect()
        sys.setswitchinterval(_TURN_S)
        gc.set_threshold(*_COLLECTED_AT)
        gc.freeze()  # what lives as long as the server need not be looked at again
        yield
