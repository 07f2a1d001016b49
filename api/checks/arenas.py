"""The table of the memory that a runtime needs for several models, on several processors or boards."""

from collections.abc import Iterable

from memplan.questions.check.check import Check

HEAD = ("model", "target", "planned", "scratch in it", "persistent", "temporary", "to start", "flash", "budget", "")
_TEXTS = (0, 1, len(HEAD) - 1)
"""The columns of texts; the others have bytes."""


def arena_rows(checks: Iterable[Check]) -> list[list[str]]:
    """Return table rows (texts in the columns of `HEAD`) of the checks with a runtime's arena; sizes are in bytes."""
    return [_arena_row(check) for check in checks if check.arena is not None]


def _arena_row(check: Check) -> list[str]:
    """Return the table row of a check with an arena: its subject, its target or runtime, the sizes, and a verdict."""
    arena = check.arena
    assert arena is not None, "only checks with an arena have a row"
    budget = next((pool.budget for pool in check.pools if pool.budget is not None), None)
    over = 0 if budget is None else arena.least - budget
    verdict = f"{over:,} over" if over > 0 else "" if budget is None else "fits"
    if arena.unknown:
        verdict = f"at least; not known: {', '.join(arena.unknown)}"
    sizes = (arena.head, arena.scratch, arena.tail, arena.temporary, arena.least, arena.flash, budget)
    numbers = ["" if size is None else f"{size:,}" for size in sizes]
    return [check.subject, arena.target or arena.runtime, *numbers, verdict]


def arena_lines(rows: Iterable[list[str]]) -> Iterable[str]:
    """Yield the lines of a table with its heading, in columns of equal width; numbers are right-aligned."""
    table = [list(HEAD), *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = zip(row, widths, strict=True)
        yield "  ".join(c.ljust(n) if k in _TEXTS else c.rjust(n) for k, (c, n) in enumerate(cells)).rstrip()
