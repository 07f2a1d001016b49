"""Traces of malloc and free, one call a row: `op,id,size[,alignment]`; each call is one step of time.

`op` is alloc (malloc, calloc, memalign, new, …), free (dealloc, delete) or realloc, `id` the block, mostly its address.
A block that was freed may be allocated again, as another buffer, whose name ends in `#2`. While realloc runs, there is
the old block and the new one. What is never freed is alive to the end. Blocks are aligned to 16 bytes, as malloc's are,
or to what the column `alignment` says.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from memplan.planner.errors import MAX_SHOWN, ProblemError, shown
from memplan.planner.formats.sheet import Break, Layout, Sheet, read_sheet
from memplan.planner.model.buffer_table import ABSENT, BufferTable
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES
from memplan.systems.dump import aligned, refuse_dims
from memplan.systems.imported import Imported, ImportOptions

ALIGNMENT = 16
_NULL = frozenset(("0", "0x0", "(nil)", "nil", "NULL", ""))
_ALLOC = frozenset(("alloc", "malloc", "calloc", "memalign", "aligned_alloc", "posix_memalign", "new"))
_FREE = frozenset(("free", "dealloc", "delete"))
_OPS = {"op": "op", "event": "op", "call": "op"}
_IDS = {"id": "id", "address": "id", "ptr": "id"}
_LAYOUT = Layout(
    {**_OPS, **_IDS, "new_id": "new_id", "new_ptr": "new_id", "size": "size", "bytes": "size", "alignment": "alignment"}
    | {"time": "time", "thread": "thread"},
    required=("op", "id", "size"),
    texts=("op", "id", "new_id"),
    numbers={"size": ABSENT, "alignment": ALIGNMENT},
)


def read(data: bytes, options: ImportOptions) -> Imported:
    """Read a trace; raises FormatError, ProblemError for wrong calls, and OptionError for named dimensions."""
    refuse_dims(options, "traces")
    sheet = read_sheet(data, _LAYOUT, ProblemError)
    replay = _Replay(sheet, options.alignment or ALIGNMENT)
    for row, op in enumerate(sheet.texts["op"]):
        replay.step(row, op.strip().lower())
        if len(replay.breaks) > MAX_SHOWN:
            break
    if replay.breaks:
        raise ProblemError(*sheet.sentences(replay.breaks))
    blocks = replay.blocks
    table = BufferTable.from_columns(
        [block.name for block in blocks],
        [block.size for block in blocks],
        [block.start for block in blocks],
        [sheet.n_rows if block.end is None else block.end for block in blocks],
        [block.alignment for block in blocks],
    )
    return Imported(Problem(buffers=aligned(table, options)))


@dataclass
class _Block:
    """A buffer; `end` is None while nothing frees it."""

    name: str
    size: int
    alignment: int
    start: int
    end: int | None = None


class _Replay:
    """Goes through the calls of a trace, row by row; `breaks` are those that cannot be."""

    def __init__(self, sheet: Sheet, alignment: int) -> None:
        n_rows = sheet.n_rows
        self.ids = [name.strip() for name in sheet.texts["id"]]
        self.new_ids = [name.strip() for name in sheet.texts.get("new_id", [""] * n_rows)]
        self.sizes = sheet.numbers["size"].tolist()
        self.alignments = sheet.numbers["alignment"].tolist() if "alignment" in sheet.numbers else [alignment] * n_rows
        self.blocks: list[_Block] = []
        self.breaks: list[Break] = []
        self._alive: dict[str, _Block] = {}
        self._names: set[str] = set()
        self._count: Counter[str] = Counter()

    def step(self, row: int, op: str) -> None:
        """Follow the call in a row."""
        name = self.ids[row]
        if op in _ALLOC:
            self._allocate(row, name, "id")
        elif op in _FREE:
            self._free(row, name, row)
        elif op == "realloc":
            self._free(row, name, row + 1)
            self._allocate(row, self.new_ids[row] or name, "new_id" if self.new_ids[row] else "id")
        else:
            self.breaks.append((row, "op", f"must be alloc, free or realloc, got {shown(op)}"))

    def _free(self, row: int, name: str, end: int) -> None:
        if name in _NULL:  # which may be freed, and is nowhere
            return
        block = self._alive.pop(name, None)
        if block is None:
            self.breaks.append((row, "id", f"must be allocated before it is freed, got {shown(name)}"))
        else:
            block.end = end

    def _allocate(self, row: int, name: str, field: str) -> None:
        size, alignment = self.sizes[row], self.alignments[row]
        if name in _NULL or name in self._alive:
            rule = "must be allocated once before it is freed" if name in self._alive else "must not be null"
            self.breaks.append((row, field, f"{rule}, got {shown(name)}"))
        elif not 0 <= size <= MAX_BYTES:
            self.breaks.append((row, "size", f"must be 0 to {MAX_BYTES} bytes where there is a new block"))
        elif not 1 <= alignment <= MAX_BYTES:
            self.breaks.append((row, "alignment", f"must be 1 to {MAX_BYTES}, got {alignment}"))
        else:
            block = _Block(self._new_name(name), size, alignment, row)
            self.blocks.append(block)
            self._alive[name] = block

    def _new_name(self, name: str) -> str:
        """Return the name, numbered where there was such a block before."""
        found = name
        while found in self._names:
            self._count[name] += 1
            found = f"{name}#{self._count[name] + 1}"
        self._names.add(found)
        return found
