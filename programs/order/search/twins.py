"""Twins: groups of macros (merged operations) that differ only in names, so a search visits only one of their states.

Within a part, no macro is comparable with all others, so the part may consist of groups without arcs between them.
Colours are refined until all macros of a group have different colours, which suggests a correspondence between two
groups. The correspondence is then verified macro by macro.
"""

from collections import Counter
from collections.abc import Hashable, Iterator

import numpy as np

from memplan.programs.order.search.parts import OrderPart
from memplan.solvers.core.tables import Reference

_Facts = tuple[Hashable, ...]


def encode_twins(part: OrderPart) -> OrderPart:
    """Return the part with equal codes for the corresponding macros of twins (alike groups).

    States that differ only by an exchange of twins then have equal keys.
    """
    classes = twins_of(part)
    if not classes:
        return part
    code = part.forward.table.code.copy()
    for model, *others in classes:
        for same in others:
            code[same] = code[model]
    group = np.zeros(len(part.members), dtype=np.int64)
    for k, members in enumerate(_connected_groups(part)):
        group[members] = k
    forward = part.forward.table._replace(group=group, code=code)
    backward = part.backward.table._replace(group=group, code=code)
    return OrderPart(part.members, part.before, Reference(forward), Reference(backward), part.start, part.end)


def twins_of(part: OrderPart) -> list[list[list[int]]]:
    """Return classes of lists of macros; swapping two lists of a class, member by member, changes no peak."""
    groups = _connected_groups(part)
    looks = _MacroFacts(part)
    alike: dict[_Facts, list[list[int]]] = {}
    for members in groups:
        alike.setdefault(tuple(sorted(looks.first_colour(v) for v in members)), []).append(members)
    siblings: dict[int, list[list[int]]] = {}
    for members in groups:
        for v, sibling in looks.siblings(members):
            # Interchangeability is transitive, so list all interchangeable macros under the first of them.
            siblings.setdefault(sibling, [[sibling]]).append([v])
    sibling_groups = list(siblings.values())
    for same in alike.values():
        models: dict[_Facts, list[list[list[int]]]] = {}
        for members in same if len(same) > 1 else []:
            colours = looks.colours(members)
            arranged = sorted(members, key=lambda v: colours[v])
            same_models = models.setdefault(tuple(colours[v] for v in arranged), [])
            # Colours are hashes and may collide, so compare two groups fully before they share codes.
            model = next((some for some in same_models if looks.correspond(some[0], arranged)), None)
            if model is None:
                same_models.append([arranged])
            else:
                model.append(arranged)
        sibling_groups += [some for one_group in models.values() for some in one_group if len(some) > 1]
    return sibling_groups


def _connected_groups(part: OrderPart) -> list[list[int]]:
    """Return the connected components of a part's macros, each as a list of macros."""
    group = list(range(len(part.members)))

    def root(v: int) -> int:
        while group[v] != v:
            group[v] = group[group[v]]
            v = group[v]
        return v

    for v, row in enumerate(part.before):
        for u in row:
            group[root(v)] = root(u)
    groups: dict[int, list[int]] = {}
    for v in range(len(group)):
        groups.setdefault(root(v), []).append(v)
    return list(groups.values())


class _MacroFacts:
    """The facts that determine whether macros are interchangeable, which do not depend on their names."""

    def __init__(self, part: OrderPart) -> None:
        """Collect the facts of all macros of a part."""
        moves = part.forward.table
        self._before = part.before
        self._after = [
            moves.next[moves.next_first[v] : moves.next_first[v + 1]].tolist() for v in range(len(part.members))
        ]
        self._depth: list[int] = []
        for row in part.before:
            self._depth.append(max((self._depth[u] + 1 for u in row), default=0))
        self._steps: list[list[tuple[int, int, list[int]]]] = []
        self._readers: dict[int, list[tuple[int, int]]] = {}
        self._size = moves.size.tolist()
        # The bytes of macros that may overwrite an input depend on which reader is last, so exclude these macros.
        self._is_single = {v for v in range(len(part.members)) if _may_overwrite(part, v)}
        for v in range(len(part.members)):
            rows = []
            for j in range(int(moves.step_first[v]), int(moves.step_first[v + 1])):
                free = moves.free[moves.free_first[j] : moves.free_first[j + 1]].tolist()
                rows.append((int(moves.hill[j]), int(moves.net[j]), free))
                for tensor in free:
                    self._readers.setdefault(tensor, []).append((v, len(rows) - 1))
            self._steps.append(rows)

    def first_colour(self, v: int) -> int:
        """Return a macro's first colour: a hash of the macro's steps and of the longest path to it."""
        single = v if v in self._is_single else -1
        return hash((single, self._depth[v], *((hill, net, len(free)) for hill, net, free in self._steps[v])))

    def colours(self, members: list[int]) -> dict[int, int]:
        """Return a different colour for each macro of a group; corresponding macros of two groups have equal colours.

        If several macros of the group have the same colour, one of them is marked; `correspond` verifies this choice.
        """
        colour = {v: self.first_colour(v) for v in members}
        count = len(set(colour.values()))
        while count < len(members):
            colour = {v: hash(self._facts(v, colour)) for v in members}
            before, count = count, len(set(colour.values()))
            if count == before:
                repeated = min(one for one, times in Counter(colour.values()).items() if times > 1)
                # Refinement cannot distinguish macros of one colour, so give one of them a new colour and continue.
                chosen = min(v for v in members if colour[v] == repeated)
                colour[chosen] = hash((repeated, 1))
                count += 1
        return colour

    def siblings(self, members: list[int]) -> Iterator[tuple[int, int]]:
        """Yield pairs of macros in a group that may be swapped while all other macros keep their places."""
        first: dict[Hashable, list[int]] = {}
        for v in members:
            arcs = (tuple(sorted(self._before[v])), tuple(sorted(self._after[v])))
            first.setdefault((self.first_colour(v), arcs), []).append(v)
        name = {v: v for v in members}
        for alike in first.values():
            for k, v in enumerate(alike):
                for sibling in alike[:k]:
                    name[v] = sibling
                    # Two macros are interchangeable if their facts are equal after one is renamed to the other.
                    may_change = self._facts(v, name) == self._facts(sibling, name)
                    name[v] = v
                    if may_change:
                        yield v, sibling
                        break

    def correspond(self, model: list[int], members: list[int]) -> bool:
        """Return True if the facts of two groups are equal, member by member, apart from the names of their macros."""
        theirs = {v: k for k, v in enumerate(model)}
        mine = {v: k for k, v in enumerate(members)}
        return all(self._facts(a, theirs) == self._facts(b, mine) for a, b in zip(model, members, strict=True))

    def _facts(self, v: int, name: dict[int, int]) -> _Facts:
        steps = tuple(
            (hill, net, tuple(sorted((self._tensor_facts(tensor, name) for tensor in free), key=repr)))
            for hill, net, free in self._steps[v]
        )
        arcs = tuple(tuple(sorted(name[u] for u in rows[v])) for rows in (self._before, self._after))
        return (steps, *arcs, name[v], v if v in self._is_single else -1)

    def _tensor_facts(self, tensor: int, name: dict[int, int]) -> _Facts:
        """Return a tensor's size and its readers in the group.

        If other groups read the tensor as well, its number replaces its size, so that no other tensor has equal facts.
        """
        readers = self._readers[tensor]
        if any(reader not in name for reader, _ in readers):
            inside = tuple(sorted((name[reader], step) for reader, step in readers if reader in name))
            return (1, tensor, inside)
        return (0, self._size[tensor], tuple(sorted((name[reader], step) for reader, step in readers)))


def _may_overwrite(part: OrderPart, v: int) -> bool:
    moves = part.forward.table
    return bool(moves.over_first[moves.step_first[v]] < moves.over_first[moves.step_first[v + 1]])
