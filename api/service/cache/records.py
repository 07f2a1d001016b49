"""Cached plans as the store keeps them: JSON, compressed."""

from __future__ import annotations

import json
import logging
import zlib

from pydantic_core import to_json

from memplan.api.service.cache.cached_plan import CachedPlan
from memplan.api.store.tables.plans import StoredPlan
from memplan.planner.model.buffer_table import column

_LOG = logging.getLogger("memplan")
_LEVEL = 1
"""Compression that costs little: most of what can be saved is saved at once."""


def record_of(problem_hash: str, known: CachedPlan) -> StoredPlan:
    """Write a cached plan for the store."""
    content = {
        "pool": None if known.pool is None or not known.pool.any() else known.pool.tolist(),
        "offset": None if known.offset is None else known.offset.tolist(),
        "used": known.used,
        "bound": known.bound,
        "total": known.total,
        "traffic_unit": known.traffic_unit,
        "kind": known.kind,
        "by": known.by,
        "solver": known.solver,
    }
    data = zlib.compress(to_json(content), _LEVEL)
    return StoredPlan(
        hash=problem_hash,
        plan=data,
        status=known.status,
        is_final=known.is_final,
        peak=sum(known.used) if known.used else None,
        lower_bound=known.total,
        searched_s=known.searched_s,
        bytes=len(data),
    )


def known_of(record: StoredPlan, *, with_claims: bool = False) -> CachedPlan | None:
    """Read a cached plan from the store, also with the claims of who wrote it; None where it cannot be read."""
    try:
        content = json.loads(zlib.decompress(record.plan))
        offset = content["offset"]
        pool = content["pool"] or [0] * len(offset or ())
        known = CachedPlan(
            status=record.status,  # type: ignore[arg-type]  # one of those that were written
            pool=None if offset is None else column(pool),
            offset=None if offset is None else column(offset),
            used=tuple(content["used"]),
            bound=tuple(content["bound"]),
            total=content["total"],
            traffic_unit=content["traffic_unit"],
            kind=content["kind"],
            by=content["by"],
            solver=content["solver"],
            searched_s=record.searched_s,
        )
    except (zlib.error, ValueError, KeyError, TypeError, OverflowError) as error:
        _LOG.error("a cached plan cannot be read: %s", type(error).__name__)
        return None
    return known if with_claims else known.without_claims
