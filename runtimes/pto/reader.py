"""Reader of PTO kernels as text, printed by PTOAS before or after its pass `pto-plan-memory`.

`%t = pto.alloc_tile addr = %c : !pto.tile_buf<vec, 16x64xf32>` places a tile in a memory. Operations name their inputs
(`ins`) and their outputs (`outs`). Two tiles of equal address and size are one buffer in two cases. Either the second
tile is read before it is written, like a reshape; or it is written but never read, and the first tile is read later,
like a loop's carried value. A tile and its successor at the same address are also one buffer if the tile's last reader
writes the successor, in the block that wrote the tile. A tile without an address is planned as a separate buffer. So is
`memref.alloc` in a memory of PTO, the input of `pto-plan-memory`. `pto.reserve_buffer` is a reserved range of its
memory or, without a base, a buffer that is always alive. Kernels run one after another.

Source: hw-native-sys/PTOAS a56b18c3, include/PTO/IR/PTOOps.td.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, packed_bytes, refuse_dims
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.intervals import merge_spans
from memplan.planner.model.problem import Pool
from memplan.programs.readers.draft import OperationsDraft, Uses
from memplan.runtimes.stablehlo.mlir import COMMENT, Statement, Statements, bracket_content
from memplan.runtimes.stablehlo.text import HloType

_DUMP = re.compile(r"^// -----// IR Dump [^\n]*", re.MULTILINE)
_NAME = r"%[\w$.-]+"
_HEAD = re.compile(rf'(?:({_NAME}(?:\s*,\s*{_NAME})*)\s*=\s*)?"?([a-z_][\w$]*(?:\.[\w$]+)*)"?')
_VALUE = re.compile(_NAME)
_CONSTANT = re.compile(r"\s*(-?\d{1,19})\s*:")
_FUNCTION = re.compile(r'@("[^"]*"|[\w.$-]+)')
_ADDRESS = re.compile(rf"\baddr\s*=\s*({_NAME})")
_RESERVED = re.compile(
    r'name = "(?P<name>[^"]+)"|\bsize = (?P<size>\d{1,18})|address_space<(?P<memory>\w+)>|\bbase = (?P<base>\d{1,18})'
)
_CARRIED = re.compile(rf"({_NAME})\s*=\s*({_NAME})")
_TILE = re.compile(
    r"!pto\.tile_buf<\s*(?:loc\s*=\s*(\w+)\s*,\s*dtype\s*=\s*([\w.!]+)\s*,\s*rows\s*=\s*(\d{1,9})\s*,\s*cols\s*=\s*(\d{1,9})"
    r"|(\w+)\s*,\s*((?:\d{1,9}x)+)([\w.!]+))"
)
_MEMREF = re.compile(r"memref<((?:\d{1,9}x)+)([\w.!]+),(?:[^#<>]|<[^<>]*>)*#pto\.address_space<(\w+)>")
_SOURCES = (
    (re.compile(r"pto\.(?:t(?:col|row)(?:arg)?(?:max|min|sum|prod)|tcvt|trsqrt|ttrans|trems|txors)"), 1),
    (re.compile(r"pto\.(?:tprelu|trem|txor|trowexpand\w+|tgather|tsels|tsort32)"), 2),
    (re.compile(r"pto\.tsel"), 3),
)
"""Pairs (pattern of operations, number of tiles that they read); further tiles in `ins` are scratch memory."""
_LOOP = re.compile(rf"\bscf\.for\s+({_NAME})\s*=")
_LOOPS = {"scf.for", "scf.while"}
_CHOICES = {"arith.select", "pto.castptr", "pto.tassign", "func.call"}
"""Operations whose result may be one of several tiles, so tiles are refused as their operands."""


@dataclass
class _Tile:
    """A tile: its memory, its address (negative for none), its bytes, and the steps that write and read the tile."""

    name: str
    memory: str
    address: int
    size: int
    writes: list[int] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)

    @property
    def place(self) -> tuple[str, int, int]:
        return self.memory, self.address, self.size

    @property
    def is_read_first(self) -> bool:
        """True if the tile is read before it is written, which means that another tile's name was used to write it."""
        return bool(self.reads) and (not self.writes or self.reads[0] <= self.writes[0])


@dataclass
class _Step:
    """An operation on tiles, or a loop or branch with inner steps; `block` is the number of the enclosing block."""

    op: str
    block: int
    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)
    scratch: list[int] = field(default_factory=list)
    bodies: "list[list[_Step]]" = field(default_factory=list)


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read the tiles of all kernels as one problem. Raises FormatError, and OptionError if dimensions are given."""
    refuse_dims(options, "kernels of PTO")
    kernels = _Kernels(options)
    return _import_kernels(kernels, _read_kernels(data, kernels), options)


def last_dump(text: str) -> str:
    """Return the text after the last heading of a dump, or the whole text if it has no heading."""
    return _DUMP.split(text)[-1]


def homes_of_tiles(data: bytes) -> dict[str, str]:
    """Map each tile's name to the name of the tile whose buffer it shares. Raises FormatError for a broken kernel."""
    kernels = _Kernels(ModelOptions())
    _read_kernels(data, kernels)
    homes = _home_of_each(kernels.tiles, kernels.steps, kernels.loops)
    return {tile.name: kernels.tiles[k].name for tile, k in zip(kernels.tiles, homes, strict=True)}


def _read_kernels(data: bytes, kernels: "_Kernels") -> list[_Step]:
    text = COMMENT.sub(lambda match: match[1] or "", last_dump(data.decode(errors="backslashreplace")))
    # The splitter would start a new statement at the `=` in the head of a loop, so rewrite the heads of loops.
    body, _ = kernels.block(Statements(_LOOP.sub(r"scf.for (\1),", text)).block(), {})
    if not kernels.tiles:
        raise FormatError("must contain tiles (pto.alloc_tile or memref.alloc), got none")
    return body


class _Kernels:
    """The collector of all tiles and steps of kernels, block by block in order, from the kernels' statements."""

    def __init__(self, options: ModelOptions) -> None:
        """Start without tiles, steps and reserved ranges."""
        self.options, self.uses = options, Uses()
        self.tiles: list[_Tile] = []
        self.steps: list[_Step] = []
        self.constants: dict[str, int] = {}
        self.count = Counter[str]()
        self.kernel = ""
        self.blocks = 0
        self.loops: list[range] = []
        self.reserved: dict[str, list[tuple[int, int]]] = {}
        """Maps a memory to its reserved ranges (base, size)."""
        self.kept: list[_Tile] = []
        """The reserved buffers without a base address, which are always alive."""

    def block(self, statements: Sequence[Statement], around: Mapping[str, int]) -> tuple[list[_Step], list[int | None]]:
        """Return a block's steps, and the values that it yields: the number of a tile, or None for another value.

        `around` maps names defined outside of the block to tiles.
        """
        self.blocks += 1
        number, names, rows, yielded = self.blocks, dict(around), list[_Step](), list[int | None]()
        for statement in statements:
            head = _HEAD.match(statement.text)
            if head is None:
                continue
            op, results, rest = head[2], _VALUE.findall(head[1] or ""), statement.text[head.end() :]
            values = _VALUE.findall(rest)
            tiles = [names[each] for each in values if each in names]
            if op == "arith.constant" and results and (constant := _CONSTANT.match(rest)):
                self.constants[results[0]] = int(constant[1])
            elif op in ("pto.alloc_tile", "memref.alloc") and results:
                names[results[0]] = self._add_tile(results[0], rest)
            elif op == "pto.reserve_buffer":
                self._record_reservation(rest)
            elif statement.regions:
                rows += self._region_steps(op, results, rest, statement.regions, names, number)
            elif op.endswith("yield"):
                yielded = [names.get(each) for each in values]
            elif tiles and op in _CHOICES:
                rule = f"must be used only by PTO's operations on tiles, got {op}"
                raise FormatError(f"tile {excerpt(self.tiles[tiles[0]].name)}: {rule}")
            elif tiles and results and (_TILE.search(rest.rpartition(":")[2]) or op.startswith("memref.")):
                names[results[0]] = tiles[0]
            elif tiles:
                rows.append(self._add_step(op, rest, names, number))
        return rows, yielded

    def _add_tile(self, name: str, rest: str) -> int:
        """Add a tile, and return its number. Raises FormatError for an unknown size, memory or address."""
        label = self.kernel + name
        self.count[label] += 1
        label += f"#{self.count[label]}" if self.count[label] > 1 else ""
        address, tile, memref = _ADDRESS.search(rest), _TILE.search(rest), _MEMREF.search(rest)
        is_open = address is None
        if self.tiles and is_open != (self.tiles[0].address < 0):
            raise FormatError(f"tile {excerpt(label)}: must have an address if and only if the other tiles have one")
        if address is not None and address[1] not in self.constants:
            raise FormatError(f"tile {excerpt(label)}: must have a constant address, as after the pass pto-plan-memory")
        if memref is not None:
            shape, element, memory = memref.groups()
            sizes = shape.split("x")[:-1]
        elif tile is not None:
            loc, dtype, rows, columns, space, shape, of_shape = tile.groups()
            memory, element, sizes = loc or space, dtype or of_shape, [rows, columns] if loc else shape.split("x")[:-1]
        else:
            rule = "must be a pto.tile_buf or a memref of a pto.address_space, with a known shape"
            raise FormatError(f"tile {excerpt(label)}: {rule}, got {excerpt(rest.strip())}")
        bits = HloType((), element).bits
        size = packed_bytes(f"tile {excerpt(label)}", prod(map(int, sizes)), bits, self.options.alignment or 1)
        # Each tile without an address gets its own negative number, so that no two of them seem to share bytes.
        at = ~len(self.tiles) if address is None else self.constants[address[1]]
        self.tiles.append(_Tile(label, memory, at, size))
        return len(self.tiles) - 1

    def _record_reservation(self, rest: str) -> None:
        """Record a reserved range, or a buffer if it has no base. Raises FormatError without a memory or a size."""
        said = {word: value for match in _RESERVED.finditer(rest) for word, value in match.groupdict().items() if value}
        if missing := [word for word in ("size", "memory") if word not in said]:
            raise FormatError(f"pto.reserve_buffer: must state its {missing[0]}, got {excerpt(rest.strip())}")
        name = self.kernel + said.get("name", "reserved")
        self.count[name] += 1
        name += f"#{self.count[name]}" if self.count[name] > 1 else ""
        if "base" in said:
            self.reserved.setdefault(said["memory"], []).append((int(said["base"]), int(said["size"])))
        else:
            self.kept.append(_Tile(name, said["memory"], -1, int(said["size"])))

    def _add_step(self, op: str, rest: str, names: Mapping[str, int], block: int) -> _Step:
        """Add an operation on tiles, and return its step.

        A tile that is listed neither as input nor as output is written, and also read if it had a value.
        """
        operands = {
            word: [each for each in _VALUE.findall(bracket_content(rest, match.end() - 1)) if each in names]
            for word in ("ins", "outs")
            if (match := re.search(rf"\b{word}\s*\(", rest))
        }
        reads = [names[each] for each in operands.get("ins", ())]
        written = operands.get("outs", []) if operands else [each for each in _VALUE.findall(rest) if each in names]
        sources = next((count for pattern, count in _SOURCES if pattern.fullmatch(op)), len(reads))
        reads, scratch = reads[:sources], reads[sources:]
        reads += [names[each] for each in written if not operands and self.tiles[names[each]].writes]
        step = _Step(op, block, reads, [names[each] for each in written], scratch)
        self.uses.add(len(reads) + len(written))
        for k in step.reads:
            self.tiles[k].reads.append(len(self.steps))
        for k in step.writes:
            self.tiles[k].writes.append(len(self.steps))
        self.steps.append(step)
        return step

    def _region_steps(
        self, op: str, results: list[str], rest: str, regions: list[list[Statement]], names: dict[str, int], block: int
    ) -> list[_Step]:
        """Return the steps of an operation with regions; its results are the tiles that the regions yield."""
        if op == "func.func":
            label = _FUNCTION.search(rest)
            self.kernel = f"{label[1]}/" if label else ""
        carried = {name: names[value] for name, value in _CARRIED.findall(rest) if value in names}
        begin = len(self.steps)
        bodies, yields = zip(*(self.block(region, {**names, **carried}) for region in regions), strict=True)
        if op in _LOOPS:
            self.loops.append(range(begin, len(self.steps)))
        if carried:
            yields += ([names.get(value) for _name, value in _CARRIED.findall(rest.partition("iter_args")[2])],)
        for k, name in enumerate(results):
            tiles = {row[k] for row in yields if k < len(row)} - {None}
            if len(tiles) > 1:
                raise FormatError(f"{excerpt(name)}: must be a single tile, got a choice between {len(tiles)} by {op}")
            names.update((name, tile) for tile in tiles if tile is not None)
        if op in _LOOPS or op == "scf.if":
            return [_Step(op, block, bodies=[*bodies, *([[]] if op == "scf.if" and len(bodies) == 1 else [])])]
        return [step for body in bodies for step in body]


def _home_of_each(tiles: Sequence[_Tile], steps: Sequence[_Step], loops: Sequence[range]) -> list[int]:
    """Return, for each tile, its home (the tile whose buffer it shares); `loops` has each loop's range of steps."""
    home, at = list(range(len(tiles))), dict[tuple[str, int, int], list[int]]()
    # A value may be read again under another name at the same place, so collect such reads for each place.
    again: dict[tuple[str, int, int], list[int]] = {}
    for tile in tiles:
        if tile.is_read_first:
            again.setdefault(tile.place, []).extend(tile.reads)
    for k, tile in enumerate(tiles):
        others = at.setdefault(tile.place, [])
        if tile.is_read_first or not tile.reads:
            first = min(tile.reads[:1] + tile.writes[:1], default=0)
            least = min([first, *(loop.start for loop in loops if first in loop)])
            before = [
                (bisect_left(tiles[j].writes, first), j)
                for j in others
                if tile.reads or any(when >= least for when in (*tiles[j].reads, *again.get(tile.place, ())))
            ]
            home[k] = max(((tiles[j].writes[n - 1], home[j]) for n, j in before if n), default=(0, k))[1]
        others.append(k)
    used: dict[int, list[int]] = {}
    for k, tile in enumerate(tiles):
        used.setdefault(home[k], []).extend((*tile.reads, *tile.writes))
    for when, step in enumerate(steps):
        for k in step.writes:
            if home[k] == k and tiles[k].writes[0] == when:
                for source in (home[each] for each in step.reads):
                    if source != k and _is_overwritten_by_reader(tiles, steps, when, k, source, used):
                        home = [source if each == k else each for each in home]
                        used[source] += used.pop(k)
                        break
    return home


def _is_overwritten_by_reader(
    tiles: Sequence[_Tile], steps: Sequence[_Step], when: int, k: int, source: int, used: Mapping[int, list[int]]
) -> bool:
    one, other = tiles[k], tiles[source]
    same = (one.memory, one.address) == (other.memory, other.address) and one.size <= other.size
    if not same or min((at for at in used[source] if at > when), default=len(steps)) <= max(used[k]):
        return False
    written = max((at for at in other.writes if at < when), default=None)
    return written is not None and steps[written].block == steps[when].block


def _import_kernels(kernels: _Kernels, body: Sequence[_Step], options: ModelOptions) -> ImportedProblem:
    """Return the problem of all kernels, and their own plan if all tiles have addresses."""
    tiles, home = kernels.tiles, _home_of_each(kernels.tiles, kernels.steps, kernels.loops)
    draft = OperationsDraft(None, (), options, options.alignment or 1)
    written = {home[k] for k, tile in enumerate(tiles) if tile.writes}
    tops, offsets = Counter[str](), dict[str, int]()
    for k in dict.fromkeys(home[each] for step in kernels.steps for each in (*step.reads, *step.writes, *step.scratch)):
        tile = tiles[k]
        draft.declare(tile.name, tile.size, pool=tile.memory)
        offsets[tile.name] = tile.address
        tops[tile.memory] = max(tops[tile.memory], tile.address + tile.size)

    def draw(steps: Sequence[_Step]) -> None:
        """Add steps, including those inside loops and branches, to the program under construction."""
        for step in steps:
            if step.bodies:
                drawn = []
                for each in step.bodies:
                    draft.begin_block()
                    draw(each)
                    drawn.append(draft.end_block())
                if step.op in _LOOPS:
                    draft.loop([row for rows in drawn for row in rows], None)
                else:
                    draft.branches((), drawn)
                continue
            reads = dict.fromkeys(home[k] for k in step.reads)
            changed = {home[k]: None for k in step.writes if home[k] != k}
            scratch = [k for k in (*reads, *(home[k] for k in step.scratch)) if k not in written or k not in reads]
            inputs = [tiles[k].name for k in {**reads, **changed} if k in written]
            outputs = dict.fromkeys(tiles[home[k]].name for k in step.writes)
            temporaries = [name for name in dict.fromkeys(tiles[k].name for k in scratch) if name not in outputs]
            draft.operation(step.op, inputs, outputs, temporaries)

    for each in kernels.kept:
        draft.declare(each.name, each.size, "persistent", pool=each.memory)
    draw(body)
    is_open = bool(kernels.kept) or tiles[0].address < 0
    imported = draft.make_program() if is_open else draft.make_program(own_peak=tops.total(), own_offsets=offsets)
    if not kernels.reserved:
        return imported
    pools = tuple(_add_reserved(pool, kernels.reserved.get(pool.name, ())) for pool in imported.problem.pools)
    return replace(imported, source=imported.problem.model_copy(update={"pools": pools}))


def _add_reserved(pool: Pool, ranges: Sequence[tuple[int, int]]) -> Pool:
    taken = merge_spans([(base, base + size) for base, size in ranges if size])
    return pool.model_copy(update={"reserved": tuple((start, end - start) for start, end in taken)})
