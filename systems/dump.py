"""The common part of importers of compilers' dumps, which give lifetimes and no operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from memplan.planner.errors import FormatError, OptionError, shown
from memplan.planner.model.buffer_table import BufferTable, column
from memplan.planner.model.problem import Pool, Problem
from memplan.planner.model.rows import MAX_BYTES
from memplan.systems.imported import ModelOptions


def refuse_dims(options: ModelOptions, what: str) -> None:
    """Raise OptionError for sizes of named dimensions, which `what` has not."""
    if options.dims:
        raise OptionError(
            f"dim: must not be given, as {what} name no dimensions, got {shown(next(iter(options.dims)))}"
        )


def size_of(what: str, size: int, options: ModelOptions) -> int:
    """Return a size, rounded up to the alignment of the options; raises FormatError.

    Without one it is not rounded: compilers count the last buffer's own bytes only.
    """
    if options.alignment is not None:
        size = -(-size // options.alignment) * options.alignment
    if not 0 <= size <= MAX_BYTES:
        raise FormatError(f"{what}: must be 0 to {MAX_BYTES} bytes, got {shown(size)}")
    return size


def aligned(table: BufferTable, options: ModelOptions) -> BufferTable:
    """Return buffers aligned, and with sizes rounded up, to the alignment of the options; raises FormatError."""
    if options.alignment is None:
        return table
    sizes = [
        size_of(f"buffer {shown(name)}", size, options)
        for name, size in zip(table.ids, table.size.tolist(), strict=True)
    ]
    return replace(table, size=column(sizes), alignment=column([options.alignment] * len(sizes)))


def problem_of(rows: Iterable[Mapping[str, Any]], pools: Iterable[str], name: str | None = None) -> Problem:
    """Return the problem of such buffers in pools as large as they need to be; raises ProblemError."""
    return Problem.model_validate({"name": name, "buffers": tuple(rows), "pools": [Pool(name=pool) for pool in pools]})
