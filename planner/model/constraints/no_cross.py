"""`no_cross`: a buffer lies in one page, between two multiples of a number among its addresses."""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np

from memplan.planner.model.constraints.kept import KeptBuffers


def fits(size: int, page: int, address: int, step: int | None) -> bool:
    """Return True if a buffer at one of the addresses `address` + k * `step` crosses no page; None: at the first."""
    least = address % (page if step is None else gcd(step, page))
    return least + size <= page


def columns(kept: KeptBuffers) -> dict[str, Any]:
    """Return `page` and `page_shift`, the base address modulo the page, in bytes; 0 where a buffer has no such rule."""
    problem = kept.problem
    page = np.zeros(len(problem.buffers), dtype=np.int64)
    page[list(problem.buffers.pages)] = list(problem.buffers.pages.values())
    pages = np.where(kept.allowed, page[kept.source], 0)
    base = np.array([pool.base_address for pool in problem.pools])[:, None]
    return {"page": pages, "page_shift": np.where(pages > 0, base % np.maximum(pages, 1), 0)}
