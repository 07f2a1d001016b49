"""Rows that tie buffers to each other: colocation groups, rigid groups, partners that share an offset."""

from __future__ import annotations

from memplan.solvers.mip.boxes import Boxes
from memplan.solvers.mip.draft import Draft, Term


def colocated_buffers_lie_in_one_pool(program: Draft, boxes: Boxes) -> None:
    """Let each buffer lie where the first of its colocation group does; both may use the same pools."""
    for b, colocation in enumerate(boxes.instance.colocation.tolist()):
        for q in boxes.all[b].span if colocation != b else ():
            if ("in", q, b) in program.at:
                sides = [(program.at["in", q, b], 1), (program.at["in", q, colocation], -1)]
                program.row(("colocation", q, b), sides, at_least=0, at_most=0)


def a_rigid_group_keeps_its_distances(program: Draft, boxes: Boxes) -> None:
    """Tie the offset of each member to that of its group's anchor."""
    for b, anchor in enumerate(boxes.instance.anchor.tolist()):
        if anchor != b:
            distance = int(boxes.instance.distance[b])
            sides = [(program.at["offset", b], 1), (program.at["offset", anchor], -1)]
            program.row(("rigid", b), sides, at_least=distance, at_most=distance)


def partners_that_share_start_together(program: Draft, boxes: Boxes) -> None:
    """Let neither of two that share an offset lie above the other, nor in another pool."""
    for a, b in boxes.pairs:
        if ("shared", a, b) not in program.at:
            continue
        share = Term(program.at["shared", a, b])
        for low, high in ((a, b), (b, a)):
            sides = [(Term(program.at["offset", high]), 1), (Term(program.at["offset", low]), -1)]
            big_m = boxes.all[low].highest - boxes.all[high].lowest
            program.row_if(share, big_m, ("start", low, high), sides, 0)
        for q in boxes.all[a].span if len(boxes.all[a].span) + len(boxes.all[b].span) > 2 else ():
            others = [(program.lies_in(q, b), 1)] if q in boxes.shared_in(a, b) else []
            program.row_if(share, 1, ("beside", q, a, b), [(program.lies_in(q, a), -1), *others], 0)
