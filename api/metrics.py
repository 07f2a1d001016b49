"""Prometheus metrics that one server has counted since its start."""

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import cache, partial
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.gc_collector import GCCollector
from prometheus_client.metrics_core import Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from memplan.api.store.job import ENDED, OPEN
from memplan.api.store.tables.jobs import JobCounts
from memplan.solvers.search.result import SolveResult

disable_created_metrics()  # type: ignore[no-untyped-call]  # Counters otherwise get a useless second line.
_REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)
_SOLVE_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600)
_GAP_BUCKETS = (0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
LATE_S = 0.5
"""The seconds after a deadline up to which an answer counts as punctual."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_NOW = {
    "workers": "Workers that this server can send problems to.",
    "places": "Problems that this server solves at once.",
    "places_taken": "Problems that it solves now.",
    "callers_waiting": "Callers who wait for a place.",
    "open_streams": "Answers that stay open: events and batches.",
    "held_body_bytes": "Bytes of requests that were read and are not yet answered.",
    "kept_bytes_limit": "Bytes that the store may keep of all jobs.",
    "disk_full": "1 while the disk of the database has no room for jobs.",
}
"""The gauges of this server and their descriptions."""

Place = Literal["server", "worker"]
Lookup = Literal["hit", "started_from", "joined", "miss"]
LOOKUP: ContextVar[str] = ContextVar("lookup", default="miss")
"""Whether this task found its plan in the cache: `hit` or `miss`."""


class Metrics(Collector):
    """Counters, and gauges that are set when they are read; no label has values that callers choose."""

    def __init__(self) -> None:
        """Create all counters and gauges in a new registry, with the value 0."""
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        GCCollector(registry=registry)
        counter, histogram = partial(Counter, registry=registry), partial(Histogram, registry=registry)
        gauge = partial(Gauge, registry=registry)
        # Looking up a counter by its labels takes longer than counting, so cache the counter of each label combination.
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
        says = "Plans and bounds of solvers that were refused, as they were wrong; the search continued without them."
        self._refused = counter("memplan_refused_results", says, ("solver",))
        self._misses = counter("memplan_deadline_misses", "Answers later than promised.")
        self._lost = counter("memplan_workers_lost", "Workers that died or were killed in a solve.")
        self._stored: JobCounts | None = None
        registry.register(self)
        self._now = {name: gauge(f"memplan_{name}", says) for name, says in _NOW.items()}

    def count_answer(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request; `route` is the declared path with placeholders for its parameters."""
        self._requests(method if method in _METHODS else "other", route, str(status)).inc()
        self._request_seconds(route).observe(seconds)

    def count_solve(self, result: SolveResult, solver: str, place: Place) -> None:
        """Count a solve by the requested solver, the plan's solver, and where it ran: on a server or a worker."""
        plan = result.plan
        made_by = (plan.solver or "none").partition(":")[0]
        self._solve_seconds(solver, made_by, place).observe(result.elapsed_s)
        self._plans(plan.status).inc()
        if plan.gap is not None:
            self._gap.observe(plan.gap)

    def looked_up(self, result: Lookup) -> None:
        """Count a problem's look-up in the plan cache; store its result, such as `hit`, for the current request."""
        self._lookups(result).inc()
        LOOKUP.set("hit" if result == "hit" else "miss")

    def count_refusal(self, reason: str, route: str, about: str) -> None:
        """Count a refused request by the name of its error, its route, and the field at fault."""
        self._refusals.labels(reason, route, about).inc()

    def count_fault(self, question: str, kind: str) -> None:
        """Count an internal fault by its question and its id."""
        self._faults.labels(question, kind).inc()

    def count_refused_result(self, solver: str) -> None:
        """Count a solver's plan or bound that was wrong, after which its search continued without it."""
        self._refused.labels(solver).inc()

    def missed_deadline(self) -> None:
        """Count an answer that missed its deadline."""
        self._misses.inc()

    def count_lost_worker(self) -> None:
        """Count a worker process that died or was killed during a search."""
        self._lost.inc()

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics about jobs, which the store counts over all servers."""
        if (stored := self._stored) is None:
            return
        jobs = GaugeMetricFamily("memplan_jobs", "Jobs of all servers that wait or run, by state.", labels=["state"])
        says = "Jobs that ended at all servers, by state."
        ended = CounterMetricFamily("memplan_jobs_finished", says, labels=["state"])
        for family, states, counts in ((jobs, OPEN, stored.open), (ended, ENDED, stored.ended)):
            for state in states:
                family.add_metric([state], counts.get(state, 0))
            yield family
        for name, says, value in (
            ("memplan_oldest_job_seconds", "How old the oldest job is that waits.", stored.oldest_s),
            ("memplan_job_workers", "Servers and workers that take jobs, on all machines.", stored.workers),
            ("memplan_kept_bytes", "Bytes of requests and answers that the store keeps of jobs.", stored.kept_bytes),
        ):
            yield GaugeMetricFamily(name, says, value)

    def render(self, stored: JobCounts, now: Mapping[str, int]) -> bytes:
        """Return all metrics in the text format of Prometheus.

        `stored` has the counts of jobs of all servers, and `now` the values of this server's gauges by name in `_NOW`.
        """
        self._stored = stored
        for name, count in now.items():
            self._now[name].set(count)
        return generate_latest(self._registry)
