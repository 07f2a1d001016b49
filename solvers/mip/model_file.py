"""The integer program of a problem, written as an LP or MPS file with readable names."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from textwrap import wrap

from memplan.planner.errors import OptionError, TimeOverError, excerpt
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.problem import Problem
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.formulation.equal_use import EqualPools
from memplan.solvers.mip.boxes import Boxes
from memplan.solvers.mip.draft import LOOKED_EVERY, Draft, Key, LinearRow
from memplan.solvers.mip.model_question import minimisation_of
from memplan.solvers.mip.mps import MpsColumn, Sense, mps_lines
from memplan.solvers.mip.program import draft
from memplan.solvers.mip.stages import MAX_ROWS, count_rows

_WIDTH = 100


def write_model(problem: Problem, suffix: str, is_over: Callable[[], bool] = lambda: False) -> bytes:
    """Return the integer program of a problem as the content of a file of type `suffix`: ".lp" or ".mps".

    All numbers are exact, in the unit that the header of the file states. Raises OptionError for another suffix or for
    a program with more than MAX_ROWS rows, and TimeOverError once `is_over` returns True.
    """
    if suffix not in (".lp", ".mps"):
        raise OptionError(f"suffix: must be .lp or .mps, got {excerpt(suffix)}")
    problem = EqualPools(problem).single_pool_problem if problem.equal_use else problem
    instance = compile_problem(problem)
    rows = refuse_large(instance)
    boxes, question = minimisation_of(instance)
    program = Draft()

    def require_time() -> None:
        """Raise TimeOverError, with the progress so far, once the time is over."""
        if is_over():
            made = f"{len(program.rows)} rows and {len(program.keys)} columns of up to {rows} rows were written"
            raise TimeOverError(f"time_limit_s: must suffice to write the whole program: {made}")

    program.look = require_time
    draft(boxes, question, program)
    text = _Text(program, column_names(problem, boxes, program), _ModelNames(problem, boxes, {}))
    head = _header_lines(problem, instance)
    lines = text.lp(head) if suffix == ".lp" else text.mps(head)
    return ("\n".join(_insert_look_calls(lines, require_time)) + "\n").encode("ascii")


def refuse_large(instance: Instance) -> int:
    """Raise OptionError if an instance's program may have more than MAX_ROWS rows; return the upper bound on them."""
    rows = count_rows(instance)
    if rows > MAX_ROWS:
        raise OptionError(f"model: the program must have at most {MAX_ROWS} rows, got up to {rows}")
    return rows


def _insert_look_calls(lines: Iterator[str], look: Callable[[], None]) -> Iterator[str]:
    for count, line in enumerate(lines):
        if count % LOOKED_EVERY == 0:
            look()
        yield line


def _header_lines(problem: Problem, instance: Instance) -> list[str]:
    """Return the comment at the top of a model file, as lines that explain units, rows and objectives."""
    unit = "1 byte" if instance.unit == 1 else f"{instance.unit} bytes"
    pools = [pool.name.encode("ascii", "replace").decode() for pool in problem.pools]
    lines = [
        f"memplan: where {len(instance)} buffers lie in {len(pools)} pool(s). Offsets, ends and peaks are in units of "
        f"{unit}.",
        "(1) minimise the largest end offset: the peak",
        "(2) e = o + size: the end of a buffer is its offset plus its size",
        "(3) o >= 0: offsets are not negative (see the bounds)",
        "(4) below_a_b is 1 where a lies below b: of two buffers in conflict one lies below the other",
        "The other rows say what pools and constraints ask; or they cut off no plan that is needed, and make the "
        "program easier to solve.",
    ]
    if instance.objective == "cost":
        step = float(Costs.from_instance(instance).step)
        lines.append(f"The cost is counted above the cheapest conceivable, in steps of {step:g}.")
    if len(pools) > 1 or instance.objective == "cost":
        order = [*(["the cost"] if instance.objective == "cost" else []), *reversed(pools)]
        lines.append(f"The objectives come one after the other, each one fixed before the next: {', '.join(order)}.")
    return [part for line in lines for part in wrap(line, _WIDTH)]


class _Text:
    """An integer program as a file's text; each row and each used column has a name."""

    def __init__(self, program: Draft, name: dict[int, str], rows: "_ModelNames") -> None:
        self.program, self.name = program, name
        self.row_name = {row.key: rows.take(row.key) for row in program.rows}

    @property
    def objective(self) -> int:
        """The number of the column whose value is minimized."""
        assert self.program.objective is not None
        return self.program.objective

    def lp(self, head: list[str]) -> Iterator[str]:
        """Yield the lines of an LP file, with a comment before each kind of row."""
        yield from (f"\\ {line}" for line in head)
        yield from ("Minimize", f" total: {self.name[self.objective]}", "Subject To")
        kinds = list(WORDS)
        ordered = sorted(self.program.rows, key=lambda row: kinds.index(str(row.key[0])))
        for word, rows in groupby(ordered, key=lambda row: str(row.key[0])):
            yield f"\\ {WORDS[word][1]}"
            for row in rows:
                yield from _row_lines(self._lp_row(row))
        yield "Bounds"
        for at, name in self.name.items():
            lower, upper = self.program.lower[at], self.program.upper[at]
            yield f" {name} = {lower}" if lower == upper else f" {lower} <= {name} <= {upper}"
        for section, is_binary in (("Generals", False), ("Binaries", True)):
            names = [name for at, name in self.name.items() if self._is_in_integer_section(at, is_binary)]
            if names:
                yield section
                yield from _row_lines(" ".join(names))
        yield "End"

    def _is_in_integer_section(self, at: int, is_binary: bool) -> bool:
        return self.program.is_whole[at] and is_binary == ((self.program.lower[at], self.program.upper[at]) == (0, 1))

    def _lp_row(self, row: LinearRow) -> str:
        # Readers of LP files reject a row without columns, so give it one column with coefficient 0.
        entries = row.entries or [(self.objective, 0)]
        sense, limit = ("=" if row.at_least == row.at_most else ">=" if row.at_most is None else "<="), _row_limit(row)
        return f"{self.row_name[row.key]}: {' '.join(self._lp_entry(*entry) for entry in entries)} {sense} {limit}"

    def _lp_entry(self, at: int, coefficient: int) -> str:
        size = "" if abs(coefficient) == 1 else f"{abs(coefficient)} "
        return f"{'-' if coefficient < 0 else '+'} {size}{self.name[at]}"

    def mps(self, head: list[str]) -> Iterator[str]:
        """Yield the lines of a free MPS file."""
        yield from (f"* {line}" for line in head)
        entries: dict[int, list[tuple[str, int]]] = {at: [] for at in self.name}
        entries[self.objective].append(("total", 1))
        rows: list[tuple[str, Sense, int]] = []
        for row in self.program.rows:
            sense: Sense = "E" if row.at_least == row.at_most else "G" if row.at_most is None else "L"
            rows.append((self.row_name[row.key], sense, _row_limit(row)))
            for at, coefficient in row.entries or [(self.objective, 0)]:
                entries[at].append((self.row_name[row.key], coefficient))
        lower, upper, is_whole = self.program.lower, self.program.upper, self.program.is_whole
        yield from mps_lines(
            rows, [MpsColumn(self.name[at], lower[at], upper[at], is_whole[at], entries[at]) for at in entries]
        )


def _row_lines(text: str) -> list[str]:
    if len(text) < _WIDTH:
        return [f" {text}"]
    return wrap(
        text, _WIDTH, initial_indent=" ", subsequent_indent="   ", break_long_words=False, break_on_hyphens=False
    )


def _row_limit(row: LinearRow) -> int:
    limit = row.at_most if row.at_least is None else row.at_least
    assert limit is not None
    return limit


_LONGEST_ID = 40
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.]+")
_COLUMN_WORDS = {"offset": "o", "end": "e", "multiple": "steps"}
"""The abbreviations of words in column names."""
WORDS = {
    "peak": ("qb", "(1) the peak is at or above every end"),
    "end": ("b", "(2) an end is an offset plus a size"),
    "below": (
        "bb",
        "(4) of two buffers in conflict one lies below the other; where the binary is 0, the big-M lifts the row",
    ),
    "home": ("b", "every buffer lies in one pool"),
    "order": ("bb", "of two orders at most one holds, and none where they share an offset"),
    "together": ("qbb", "two in conflict, in the same pool, have an order, or share an offset"),
    "lowest": ("b", "a buffer lies at or above the lowest offset of the pool that it chooses"),
    "highest": ("b", "a buffer lies at or below the highest offset of the pool that it chooses"),
    "aligned": ("b", "an offset is the first aligned one plus a number of steps"),
    "counted": ("qb", "steps are counted in the pool that the buffer chooses"),
    "colocation": ("qb", "what must lie in one pool with a buffer goes where it goes"),
    "rigid": ("b", "a buffer keeps its distance from the one it is relative to, or from the lowest of those so joined"),
    "start": ("bb", "two that share an offset start together"),
    "beside": ("qbb", "two that share an offset lie in one pool"),
    "paged": ("qb", "pages are counted in the pool that the buffer chooses"),
    "page_start": ("b", "a buffer starts inside a page"),
    "page_end": ("b", "a buffer ends inside the page that it starts in"),
    "above": ("nqb", "a buffer that is above a range that is barred to it starts at its end or above"),
    "beneath": ("nqb", "a buffer that is not above a range that is barred to it starts below it"),
    "bank": ("qb", "the first bank that a buffer touches"),
    "past": ("qb", "the bank after the last one that a buffer touches"),
    "parted": ("qbb", "where two are parted, the banks of the lower one end before those of the upper one begin"),
    "banks": ("qbb", "two that should touch no common bank are parted, or are paid"),
    "held": ("tb", "what lies below a buffer, of what it conflicts with, holds it up"),
    "pushed": ("tqb", "what lies above a buffer, of what it conflicts with, pushes the peak up"),
    "share": ("tq", "what conflicts pairwise fits below the peak of its pool"),
    "free": ("tq", "what conflicts pairwise fits around what is reserved in its pool"),
    "twins": ("bb", "of two buffers that can be exchanged, the first lies in the earlier pool"),
    "apart": ("bb", "where two of a priced pair are apart, the lower one ends before the upper one begins"),
    "priced": ("qbb", "two of a priced pair, in the same pool, are apart, or are paid"),
    "cost": ("", "the cost is what the chosen pools and pairs ask"),
    "offset": ("b", ""),
    "in": ("qb", ""),
    "multiple": ("qb", ""),
    "shared": ("bb", ""),
    "page": ("qb", ""),
    "paid": ("nbb", ""),
}
"""The words of keys in the order of the file, with the kinds of their numbers and the comment for their rows.

The comment is "" for columns. The kinds are pools (q), boxes (b), crowds (t: sets of conflicting buffers), and numbers
that names omit (n).
"""


def column_names(problem: Problem, boxes: Boxes, program: Draft) -> dict[int, str]:
    """Return the name in files of each column that a row or the objective of a problem's program uses."""
    names = _ModelNames(problem, boxes, _COLUMN_WORDS)
    used = {at for row in program.rows for at, _ in row.entries} | {program.objective}
    return {at: names.take(program.keys[at]) for at in sorted(at for at in used if at is not None)}


class _ModelNames:
    """The names of columns or rows in LP and MPS files, each used once, such as `below_conv1_conv2`."""

    def __init__(self, problem: Problem, boxes: Boxes, words: Mapping[str, str]) -> None:
        """Choose distinct names for the boxes and pools; `words` maps each kind of key to the words of its names."""
        buffers = [str(problem.buffers.ids[int(i)]) for i in boxes.instance.source]
        reserved = [f"reserved{k}" for k in range(1, len(boxes.all) - boxes.n + 1)]
        self._boxes = _distinct_names([*buffers, *reserved])
        self._pools = _distinct_names([pool.name for pool in boxes.instance.pools])
        self._words = words
        self._used: dict[str, int] = {}

    def take(self, key: Key) -> str:
        """Return a unique name for the key of a column or row, with a number appended if the name is taken."""
        word, *numbers = key
        parts = [self._words.get(str(word), str(word))]
        for kind, number in zip(WORDS[str(word)][0], numbers, strict=False):
            parts += self._number_words(kind, int(number))
        return _distinct_name("_".join(parts), self._used)

    def _number_words(self, kind: str, number: int) -> list[str]:
        """Return the words that stand for one number in a key: a buffer's id, a pool's name or a set's number.

        `kind` says what the number counts, as listed in WORDS. A pool is not named if it is the only one.
        """
        if kind == "b":
            return [self._boxes[number]]
        if kind == "t":
            return [f"set{number}"]
        if kind == "n":
            return []
        return [self._pools[number]] if len(self._pools) > 1 else []


def _distinct_names(texts: list[str]) -> list[str]:
    used: dict[str, int] = {}
    return [_distinct_name(_NOT_IN_NAMES.sub("_", text)[:_LONGEST_ID] or "_", used) for text in texts]


def _distinct_name(name: str, used: dict[str, int]) -> str:
    times = used[name] = used.get(name, 0) + 1
    if times == 1:
        return name
    while f"{name}_{times}" in used:
        times += 1
    used[f"{name}_{times}"] = 1
    return f"{name}_{times}"
