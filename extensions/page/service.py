"""The pages of the service: `GET /` shows and makes plans, and `GET /docs` describes all calls by `/openapi.json`.

Neither page loads anything from other servers or runs an inline script, because its security policy forbids both.
"""

import mimetypes
from functools import cache
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from memplan.extensions.page.file_page import file_page
from memplan.extensions.page.one_file import STATIC

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
mimetypes.add_type("text/javascript", ".js")  # Python before 3.12 returns another type for .js files, so set the type.
_HEADERS = {"Cache-Control": "no-cache", "Content-Security-Policy": _POLICY}


class _Modules(StaticFiles):
    """The static files of the pages, each served with the header Content-Security-Policy."""

    def file_response(self, *given: Any, **named: Any) -> Response:
        """Return a file, or status 304 (not modified) if the browser already has its current version."""
        response = super().file_response(*given, **named)
        response.headers.update(_HEADERS)
        return response


MODULES = _Modules(directory=str(STATIC))


@router.get("/")
async def page(request: Request) -> Response:
    """Return the page of the service."""
    return await MODULES.get_response("live/index.html", request.scope)


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Return the page that describes all calls."""
    return await MODULES.get_response("live/docs.html", request.scope)


@router.get("/blank.html")
async def blank() -> Response:
    """Return a file page without views; when the page of the service saves a plan, it inserts the plan's views here."""
    return Response(_blank_page(), media_type="text/html", headers={"Content-Disposition": "attachment"})


@cache
def _blank_page() -> bytes:
    return file_page("plan")


def add_pages(app: FastAPI) -> None:
    """Add the routes of the pages and of their static files to a service's app."""
    app.include_router(router)
    app.mount("/static", MODULES)
