"""`GET /`: the page over this service. `GET /docs`: its calls, rendered from `/openapi.json`; and their modules.

Nothing is asked for elsewhere, and nothing inline is run: the policy of both pages allows what this server has.
"""

from __future__ import annotations

import mimetypes
from functools import cache
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from memplan.extensions.page.file_page import STATIC, file_page

router = APIRouter(include_in_schema=False)

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
mimetypes.add_type("text/javascript", ".js")  # which older tables of Python call another
_HEADERS = {"Cache-Control": "no-cache", "Content-Security-Policy": _POLICY}


class _Modules(StaticFiles):
    """The pages, modules and styles, with their content security policy."""

    def file_response(self, *given: Any, **named: Any) -> Response:
        """Return a file, or the answer that it has not changed."""
        response = super().file_response(*given, **named)
        response.headers.update(_HEADERS)
        return response


MODULES = _Modules(directory=str(STATIC))


@router.get("/")
async def page(request: Request) -> Response:
    """Return the page."""
    return await MODULES.get_response("live/index.html", request.scope)


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Return the page of all calls."""
    return await MODULES.get_response("live/docs.html", request.scope)


@router.get("/blank.html")
async def blank() -> Response:
    """Return a file page without views, into which the page puts the views that it saves."""
    return Response(_blank(), media_type="text/html", headers={"Content-Disposition": "attachment"})


@cache
def _blank() -> bytes:
    return file_page("plan")


def add_pages(app: FastAPI) -> None:
    """Add the pages and their modules to a service."""
    app.include_router(router)
    app.mount("/static", MODULES)
