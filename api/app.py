"""The service, as an ASGI app: `memplan serve` and the container run it."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import to_thread
from fastapi import FastAPI

from api.openapi import add_schemas
from api.problem_details import add_error_answers
from api.readiness import warm_up
from api.routes import health, liveness, plan, solvers, verify
from api.service import Service
from api.settings import Settings, read_settings
from planner import __version__

_DESCRIPTION = "A pool and an offset for every buffer, with a proof or an honest gap, on time, verified."


def create_app(settings: Settings | None = None) -> FastAPI:
    """Make the service; its settings come from the environment unless they are given. Raises OptionError."""
    app = FastAPI(
        title="memplan",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=_lifespan,
        docs_url=None,  # the pages that draw the schema would fetch scripts from elsewhere
        redoc_url=None,
    )
    app.state.service = Service(settings or read_settings())
    for module in (plan, verify, liveness, solvers, health):
        app.include_router(module.router)
    add_error_answers(app)
    add_schemas(app)
    return app


@asynccontextmanager
async def _lifespan(_app: FastAPI) -> AsyncIterator[None]:
    """Make everything ready before the first request, so that none waits for compilation."""
    await to_thread.run_sync(warm_up)
    gc.collect()
    gc.freeze()  # what lives as long as the server need not be looked at again
    yield
