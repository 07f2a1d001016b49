"""Metrics for Prometheus, counted by one server since its start."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache, partial
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

from memplan.api.store.job import STATES, State
from memplan.solvers.search.result import SolveResult

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second, useless line for each counter
_REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)
_SOLVE_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600)
_GAP_BUCKETS = (0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
LATE_S = 0.5
"""The grace after a deadline within which an answer counts as on time."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_NOW = {
    "workers": "Workers that this server can send problems to.",
    "places": "Problems that this server solves at once.",
    "places_taken": "Problems that it solves now.",
    "callers_waiting": "Callers who wait for a place.",
    "open_streams": "Answers that stay open: events and batches.",
    "held_body_bytes": "Bytes of requests that were read and are not yet answered.",
}
"""The gauges of this server, with their descriptions."""

Place = Literal["server", "worker"]
Lookup = Literal["hit", "started_from", "joined", "miss"]
LOOKUP: ContextVar[str] = ContextVar("lookup", default="miss")
"""The result of this task's cache lookup: `hit` or `miss`."""


class Metrics:
    """Counters, and gauges set on reading; labels have few values, whatever the requests."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        GCCollector(registry=registry)
        counter, histogram = partial(Counter, registry=registry), partial(Histogram, registry=registry)
        gauge = partial(Gauge, registry=registry)
        # Label combinations are few, and looking one up takes longer than counting, so each is cached.
        self._requests = cache(counter("memplan_requests", "Requests answered.", ("method", "route", "status")).labels)
        says = "From a request's first byte to its answer's last."
        timed = histogram("memplan_request_seconds", says, ("route",), buckets=_REQUEST_BUCKETS)
        self._request_seconds = cache(timed.labels)
        says = "Time in solvers, by the solver of the request, the solver that made the plan, and the place."
        labels = ("solver", "rung", "place")
        self._solve_seconds = cache(histogram("memplan_solve_seconds", says, labels, buckets=_SOLVE_BUCKETS).labels)
        self._plans = cache(counter("memplan_plans", "Plans made, by status.", ("status",)).labels)
        self._gap = histogram("memplan_plan_gap", "How far plans are above their bounds.", buckets=_GAP_BUCKETS)
        says = "Problems looked up in the cache: hit, started_from (a cached plan), joined (a search that runs), miss."
        self._lookups = cache(counter("memplan_cache_lookups", says, ("result",)).labels)
        says = "Requests that were refused: the kind of error, the call, and the field or option that it is about."
        self._refusals = counter("memplan_refusals", says, ("reason", "route", "about"))
        says = "Faults of the program: the question, and the kind under which the log has it."
        self._faults = counter("memplan_faults", says, ("question", "kind"))
        self._misses = counter("memplan_deadline_misses", "Answers later than promised.")
        self._lost = counter("memplan_workers_lost", "Workers that died or were killed in a solve.")
        self._finished = counter("memplan_jobs_finished", "Jobs that ended here, by state.", ("state",))
        says = "Jobs in the store, of all servers, by state."
        self._jobs = Gauge("memplan_jobs", says, ("state",), registry=registry)
        self._now = {name: gauge(f"memplan_{name}", says) for name, says in _NOW.items()}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request; `route` is the path as the app declares it, without its parameters' values."""
        self._requests(method if method in _METHODS else "other", route, str(status)).inc()
        self._request_seconds(route).observe(seconds)

    def solved(self, result: SolveResult, solver: str, place: Place) -> None:
        """Count a solve by the requested solver, the solver of the plan, and the place where it ran."""
        plan = result.plan
        made_by = (plan.solver or "none").partition(":")[0]
        self._solve_seconds(solver, made_by, place).observe(result.elapsed_s)
        self._plans(plan.status).inc()
        if plan.gap is not None:
            self._gap.observe(plan.gap)

    def looked_up(self, result: Lookup) -> None:
        """Count a problem that was looked up in the cache."""
        self._lookups(result).inc()
        LOOKUP.set("hit" if result == "hit" else "miss")

    def refused(self, reason: str, route: str, about: str) -> None:
        """Count a refused request by its error's name, its route, and the field concerned."""
        self._refusals.labels(reason, route, about).inc()

    def failed(self, question: str, kind: str) -> None:
        """Count a fault of the program by its question and identifier."""
        self._faults.labels(question, kind).inc()

    def missed_deadline(self) -> None:
        """Count an answer after its deadline."""
        self._misses.inc()

    def lost_worker(self) -> None:
        """Count a worker that died or was killed during a solve."""
        self._lost.inc()

    def finished_job(self, state: State) -> None:
        """Count a job that ended on this server."""
        self._finished.labels(state).inc()

    def rendered(self, jobs: Mapping[State, int], now: Mapping[str, int]) -> bytes:
        """Return all metrics in Prometheus' text format; `jobs` by state, `now` by the names of _NOW."""
        for state in STATES:
            self._jobs.labels(state).set(jobs.get(state, 0))
        for name, count in now.items():
            self._now[name].set(count)
        return generate_latest(self._registry)
