"""Rigid groups: buffers that lie at fixed distances from each other, as `relative` says."""

from __future__ import annotations

from collections.abc import Mapping

Name = int | str
Relatives = Mapping[int, tuple[Name, int]]
Roots = Mapping[int, tuple[int, int]]


def rigid_groups(relatives: Relatives, index: Mapping[Name, int], roots: Roots) -> Mapping[int, tuple[int, int]]:
    """Return, for each buffer that `relative` joins with others, (its group's lowest buffer, bytes above that one).

    The lowest buffer of a group is in it, too, with a distance of 0; of several, it is the first. Aliases are in no
    group: what is relative to one is so to the buffer that the alias lives in. The chains must not lead back to
    themselves.
    """
    above: dict[int, tuple[int, int]] = {}  # from a buffer to (the one where its chain ends, bytes above that one)
    for i in relatives:
        path = []
        while i in relatives and i not in above:
            path.append(i)
            i = target(relatives[i], index, roots)[0]
        at, distance = above.get(i, (i, 0))
        for j in reversed(path):
            distance += target(relatives[j], index, roots)[1]
            above[j] = (at, distance)
    members: dict[int, list[tuple[int, int]]] = {}
    for i, (at, distance) in above.items():
        members.setdefault(at, [(0, at)]).append((distance, i))
    found: dict[int, tuple[int, int]] = {}
    for group in members.values():
        lowest, lead = min(group)
        found.update({i: (lead, distance - lowest) for distance, i in group})
    return found


def target(relative: tuple[Name, int], index: Mapping[Name, int], roots: Roots) -> tuple[int, int]:
    """Return the target of a `relative` buffer, as (a buffer that is no alias, bytes above its start)."""
    name, distance = relative
    at = index[name]
    root, more = roots.get(at, (at, 0))
    return root, distance + more
