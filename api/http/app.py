"""The ASGI application of the service, which `memplan serve` and the container run."""

import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from anyio import to_thread
from fastapi import FastAPI
from fastapi.routing import APIRoute

from memplan.api.garbage import collect_rarely
from memplan.api.http.app_state import Service
from memplan.api.http.auth import ScopeCheck
from memplan.api.http.middleware import Envelope, Questions
from memplan.api.http.openapi import describe
from memplan.api.http.problem_details import add_error_answers
from memplan.api.http.routes import batch, job_contents, jobs, plans, questions, server
from memplan.api.readiness import warm_up
from memplan.api.reports.views import add_pages
from memplan.api.settings import Settings, read_settings
from memplan.planner import __version__

_DESCRIPTION = "A pool and an offset for every buffer, with a proof or an honest gap, on time, verified."
_TURN_S = 0.001
"""The seconds after which Python makes a busy thread yield to the event loop."""


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return a new ASGI application, by default with the settings of the environment variables. Raises OptionError."""
    app = FastAPI(
        title="memplan",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=_lifespan,
        docs_url=None,  # FastAPI's page loads third-party scripts, so memplan serves its own page.
        redoc_url=None,
        openapi_url=None,  # `describe` adds the route /openapi.json, so FastAPI must not add the route too.
        redirect_slashes=False,  # Few clients repeat the body after a redirect, so refuse such a path.
    )
    service = app.state.service = Service(settings or read_settings())
    calls = app.state.calls = defaultdict[str, set[str]](set)
    for module in (questions, plans, jobs, job_contents, batch, server):
        app.include_router(module.router)
        for route in module.router.routes:
            if isinstance(route, APIRoute) and route.include_in_schema:
                calls[route.path] |= route.methods or set()
    add_pages(app)
    add_error_answers(app)
    own = [route for route in questions.router.routes if isinstance(route, APIRoute)]
    app.add_middleware(Questions, routes=own, admits=ScopeCheck("plan"))
    app.add_middleware(Envelope, metrics=service.metrics, faults=service.faults, bodies=service.bodies)
    describe(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[dict[str, Service]]:
    service: Service = app.state.service
    async with AsyncExitStack() as stack:
        await service.open(stack)
        await to_thread.run_sync(warm_up)  # The first request should not wait for imports, so load all modules now.
        sys.setswitchinterval(_TURN_S)
        collect_rarely()
        stack.callback(service.stop)
        yield {"service": service}
