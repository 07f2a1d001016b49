"""A check as JSON: for programs that go on with it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from memplan.api.checks.check import CheckResult, PoolCheck


def as_rows(check: CheckResult) -> dict[str, Any]:
    """Return all that a check says but the plan itself; null for what is not known or not given."""
    return {
        "passed": check.passed,
        "subject": check.subject,
        "status": check.plan.status,
        "solver": check.plan.solver,
        "reproducible": check.plan.reproducible,
        "disturbed_by": check.plan.disturbed_by,
        "findings": [asdict(finding) for finding in check.plan.findings],
        "failures": [asdict(failure) for failure in check.failures],
        "pools": [_pool(pool) for pool in check.pools],
        "placements": None if check.changes is None else asdict(check.changes),
    }


def _pool(pool: PoolCheck) -> dict[str, Any]:
    growth = pool.growth
    return {
        "name": pool.name,
        "used": pool.used,
        "lower_bound": pool.lower_bound,
        "size": pool.size,
        "budget": pool.budget,
        "over_budget": None if pool.budget is None else pool.over_budget,
        "before": pool.before,
        "growth": None if pool.before is None else pool.used - pool.before,
        "allowed_growth": pool.allowed_growth,
        "live_set": asdict(pool.peak),
        "live_bytes_before": None if growth is None else growth.bytes_before,
        "causes": None if growth is None else [asdict(cause) for cause in growth.causes],
    }
