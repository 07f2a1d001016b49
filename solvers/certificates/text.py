"""The text of a certificate, `memplan-lemmas/1`: claims, sets, lemmas; buffers by their rows in the problem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memplan.solvers.certificates.lemma_problem import ConflictSet, LemmaInput
from memplan.solvers.core.lemmas import ALONE, FAR, NOTHING, LemmaStore, read_leaf

FORMAT = "memplan-lemmas/1"


@dataclass(frozen=True)
class ClaimText:
    """One claim: that nothing ends at or below `ends` (bytes), with its lines, and how many lemmas they hold."""

    ends: tuple[int, ...]
    lines: tuple[str, ...]
    lemmas: int = 0
    buffers: tuple[int, ...] = ()

    def write(self) -> Iterable[str]:
        """Yield the lines of the claim."""
        yield " ".join(map(str, ("claim", *self.ends)))
        yield from self.lines


@dataclass(eq=False)
class SetNumbers:
    """The sets that lines refer to, numbered as they come, with the lines that say what they are."""

    source: Sequence[int]
    lines: list[str] = field(default_factory=list)
    number: dict[ConflictSet, int] = field(default_factory=dict)

    def ref(self, which: ConflictSet, granule: int, remainder: int, pools: int) -> str:
        """Return the reference to a set by a granule, a remainder (bytes) and some pools, as bits."""
        if which not in self.number:
            self.number[which] = len(self.number)
            rows = (self.source[i] for i in which.buffers)
            words = ("set", "time", which.time) if which.time is not None else ("set", "of", *rows)
            self.lines.append(" ".join(map(str, words)))
        words = (self.number[which], granule, remainder, pools)
        return f"@{words[0]}" if words[1:] == (1, 0, 1) else "@" + ":".join(map(str, words))


@dataclass(frozen=True, eq=False)
class LemmaLines:
    """Lemmas as lines, the reference to what they prove, and the lows (bytes) that it needs: buffer, then pool.

    A set needs its buffers, named without a pool, at their least legal offsets.
    """

    lines: tuple[str, ...]
    ref: str
    lows: dict[int, dict[int, int]]


def lines_of_lemmas(given: LemmaInput, store: LemmaStore, root: int, sets: SetNumbers, before: int = 0) -> LemmaLines:
    """Return the lemmas that the root needs; `sets` numbers their sets, and `before` lemmas are there already.

    The root is a reference, but not to a buffer without a place: see alone_claim. Buffers of `lows` are positions in
    the instance.
    """
    instance, tables = given.instance, given.tables
    unit, p = instance.unit, tables.pools
    rows = instance.source[given.buffers].tolist()
    wanted = _needed(store, root)
    number = {k: before + at for at, k in enumerate(wanted)}
    lines: list[str] = []

    def ref(code: int) -> str:
        if code >= 0:
            return str(number[code])
        if code in (NOTHING, ALONE):
            return "-"
        t, g, group = read_leaf(tables, code)
        granule = int(tables.granule[g]) * unit
        q = group.bit_length() - 1
        is_one = group & (group - 1) == 0
        if g == 0:
            return sets.ref(given.sets[t], 1 if is_one else unit, 0, group)
        return sets.ref(given.sets[t], granule, int(tables.remainder[g * p + q]) * unit * is_one, group)

    for k in wanted:
        lows: dict[int, list[str]] = {}
        part = slice(*store.first[k : k + 2].tolist())
        for entry, value in zip(store.entry[part].tolist(), store.value[part].tolist(), strict=True):
            i, q = divmod(entry, p)
            lows.setdefault(i, ["-"] * p)[q] = "-" if value >= FAR else str(value * unit)
        branch = int(store.branch[k])
        refs = store.refs[k].tolist()
        head = ("l", rows[branch // p], *map(ref, refs[:2]))
        if branch < 0:
            head = ("s", rows[-1 - branch], *map(ref, refs[:p]))
        lines.append(" ".join([*map(str, head), *(f"{rows[i]}:{','.join(lows[i])}" for i in sorted(lows))]))
    return LemmaLines(tuple(lines), ref(root), _lows_of(given, store, root))


def lemma_lines(given: LemmaInput, store: LemmaStore, root: int, ends: tuple[int, ...]) -> ClaimText:
    """Return the claim that the lemmas prove, of which only those are written that the root needs."""
    sets = SetNumbers(given.instance.source.tolist())
    found = lines_of_lemmas(given, store, root, sets)
    named = given.instance.source[given.buffers[_named(given, store, root)]].tolist()
    return ClaimText(ends, (*sets.lines, *found.lines, f"end {found.ref}"), len(found.lines), tuple(named))


def _lows_of(given: LemmaInput, store: LemmaStore, root: int) -> dict[int, dict[int, int]]:
    """Return the lows of the buffers that the proof of the root needs, in bytes: of a set, 0."""
    p, unit, found = given.tables.pools, given.instance.unit, dict[int, dict[int, int]]()
    buffers = given.buffers.tolist()
    for i in _named(given, store, root) if root < 0 else ():
        found[buffers[i]] = {}
    for r in range(int(store.first[root]), int(store.first[root + 1])) if root >= 0 else ():
        i, q = divmod(int(store.entry[r]), p)
        if store.value[r] < FAR:
            found.setdefault(buffers[i], {})[q] = int(store.value[r]) * unit
    return found


def alone_claim(given: LemmaInput, buffer: int, ends: tuple[int, ...]) -> ClaimText:
    """Return the claim that a buffer (as the tables number them) proves, which has no place even if it is alone."""
    row = int(given.instance.source[given.buffers[buffer]])
    return ClaimText(ends, (f"end !{row}",), 0, (row,))


def _needed(store: LemmaStore, root: int) -> list[int]:
    """Return the lemmas that one needs, and itself, in the order in which they were found."""
    if root < 0:
        return []
    found, waiting = {root}, [root]
    while waiting:
        for ref in store.refs[waiting.pop()].tolist():
            if ref >= 0 and ref not in found:
                found.add(ref)
                waiting.append(ref)
    return sorted(found)


def _named(given: LemmaInput, store: LemmaStore, root: int) -> list[int]:
    """Return the buffers (as the tables number them) that the proof of the root needs."""
    p = given.tables.pools
    if root >= 0:
        return sorted({int(e) // p for e in store.entry[store.first[root] : store.first[root + 1]]})
    if root in (NOTHING, ALONE):
        return []
    t, _, _ = read_leaf(given.tables, root)
    return sorted(given.tables.member[given.tables.member_first[t] : given.tables.member_first[t + 1]].tolist())
