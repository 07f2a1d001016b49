"""`GET /`: the page over this service. `GET /docs`: its calls, drawn from `/openapi.json`. Modules come with them.

Nothing is asked for elsewhere, and nothing inline is run: the policy of both pages allows what this server has.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from memplan.api.reports.page.file_page import STATIC, file_page

router = APIRouter(include_in_schema=False)

_TYPES = {
    "js": "text/javascript",
    "css": "text/css",
    "html": "text/html",
    "txt": "text/plain",
    "csv": "text/csv",
    "svg": "image/svg+xml",
}
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
_PART = re.compile(r"[a-z0-9_-]+(\.[a-z0-9]+)*")


@router.get("/")
async def page(request: Request) -> Response:
    """Answer with the page."""
    return _file(request, "live/index.html")


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Answer with the page of all calls."""
    return _file(request, "live/docs.html")


@router.get("/blank.html")
async def blank() -> Response:
    """Answer with a file page without views, into which the page puts those that it saves."""
    return Response(file_page("plan"), media_type="text/html", headers={"Content-Disposition": "attachment"})


@router.get("/static/{path:path}")
async def module(request: Request, path: str) -> Response:
    """Answer with a module or a style of the pages."""
    return _file(request, path)


def _file(request: Request, path: str) -> Response:
    found = _content(path)
    if found is None:
        raise HTTPException(404)
    content, tag = found
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Content-Security-Policy": _POLICY}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=_TYPES[path.rpartition(".")[2]])


@lru_cache(maxsize=256)
def _content(path: str) -> tuple[bytes, str] | None:
    """Return a file of the page's folder, and its tag; None where there is none of this name."""
    place: Traversable = STATIC
    for part in path.split("/"):
        if not _PART.fullmatch(part):
            return None
        place = place / part
    if path.rpartition(".")[2] not in _TYPES or not place.is_file():
        return None
    content = place.read_bytes()
    return content, f'"{sha256(content).hexdigest()[:32]}"'
