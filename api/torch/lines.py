"""Answers whether a step of torch fits, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from memplan.api.torch.answer import FitsAnswer, SnapshotAnswer, Ways
from memplan.capabilities.sizes import size_text


def lines(answer: FitsAnswer | SnapshotAnswer) -> Iterator[str]:
    """Yield an answer for people."""
    if isinstance(answer, SnapshotAnswer):
        for device in answer.devices:
            yield from lines(device)
        return
    text = {True: "fits", False: "does not fit", None: "open"}[answer.fits]
    yield f"{text}: {answer.proof}"
    rows = [("live peak", answer.live_peak), ("planned peak", answer.peak), ("lower bound", answer.lower_bound)]
    for name, size in (*rows, ("reserved", answer.reserved), ("capacity", answer.capacity)):
        if size is not None:
            yield f"{name:<14}{size:>20,} bytes  {size_text(size):>10}"
    yield f"at the peak: {answer.running}"
    for role, size in answer.roles.items():
        yield f"  {role:<14}{size:>18,} bytes  {size_text(size):>10}"
    for group in answer.alive:
        where = " ".join(filter(None, (group.module, group.operation, group.line)))
        yield f"  {group.bytes:>18,} bytes in {group.count:>4}  {group.role}: {where}"
    for unknown in answer.unknown:
        text = "not known and not counted" if unknown.bytes is None else f"{size_text(unknown.bytes)}, as given"
        yield f"{unknown.name}: {text} (--{unknown.option.replace('_', '-')})"
    if (free := answer.left) is not None:
        yield f"left: {free.total:,} bytes, {free.contiguous:,} in one piece; behind a plan {free.planned or 0:,}"
    if (recorded := answer.recorded) is not None:
        text = "segments are equal" if recorded.is_equal else f"{recorded.misplaced} blocks lie elsewhere"
        reserved = f"{recorded.reserved:,} bytes were reserved, {recorded.simulated:,} simulated"
        yield f"device {recorded.device}: {reserved}; {text}"
    if (turns := answer.turns) is not None:
        yield f"{turns.graphs} graphs: {turns.reserved:,} bytes reserved, {turns.peak or 0:,} in turns in one arena"
    if (beside := answer.compared) is not None:
        yield f"recorded: {beside.live_peak:,} bytes alive, {beside.reserved:,} reserved"
        for name, sizes in (("recorded", beside.only_recorded), ("traced", beside.only_traced)):
            yield from (f"  {size:>18,} bytes in {count:>4}  only {name}" for size, count in sizes.items())
    if answer.ways is not None:
        yield from _lines_of_ways(answer.ways)


def _lines_of_ways(found: Ways) -> Iterator[str]:
    """Yield the ways out for people."""
    for each in found.sizes:
        text = "none fits" if each.size is None else f"{each.size} fits, {each.size + 1} does not"
        yield f"largest {each.name}: {text} ({each.tried} tried)"
    if (chosen := found.checkpoint) is not None:
        text = "does not suffice" if chosen.modules is None else ", ".join(chosen.modules) or "not needed"
        cost = f" ({100 * chosen.extra_cost:.1f} % more work)" if chosen.modules else ""
        yield f"torch.utils.checkpoint: {text}{cost}"
    best = found.order
    yield f"best order: {best.peak:,} bytes in one arena, no order is below {best.lower_bound:,}"
    if best.recomputed is not None:
        yield f"with operations that run again: {best.recomputed:,} bytes, {100 * best.extra_cost:.1f} % more work"
