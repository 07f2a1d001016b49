"""The service as a server that answers: all there is of it in one process, or one of several."""

from __future__ import annotations

from collections.abc import Callable

from memplan.api.cluster.cluster import WorkersAt
from memplan.api.http.app import create_app
from memplan.api.http.app_state import Service
from memplan.api.http.limits.turns import Turns
from memplan.api.http.serving.uvicorn import UvicornServer
from memplan.api.settings import Settings


class Server(UvicornServer):
    """A server of the service; when it is told to stop, it ends its solves instead of waiting for their limits."""

    def __init__(
        self,
        settings: Settings,
        log_level: str = "info",
        workers: WorkersAt | None = None,
        on_start: Callable[[], object] | None = None,
        turns: Turns | None = None,
    ) -> None:
        app = create_app(settings, workers)
        self.service: Service = app.state.service
        super().__init__(app, settings, log_level, self.service.stop, on_start, turns)
