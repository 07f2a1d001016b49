"""The results of file readers, and the wrapper for readers that reports unexpected exceptions as faults of memplan.

A reader must refuse wrong bytes with an error about the file. If another exception occurs, the fault is memplan's, and
every entrance says so. Files with lifetimes only, such as compilers' dumps, have no operations.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from traceback import walk_tb
from typing import Any, NamedTuple

from memplan.planner.errors import (
    MAX_SHOWN,
    FormatError,
    InputError,
    MemplanError,
    Option,
    OptionError,
    ReaderFaultError,
    excerpt,
)
from memplan.planner.foreign.model_options import ModelOptions, Size, size_text
from memplan.planner.foreign.program_names import NO_NAMES, ProgramNames
from memplan.planner.model.buffer_table import BufferTable, column
from memplan.planner.model.field_docs import DescribedFields
from memplan.planner.model.finding import Finding
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Pool, Problem
from memplan.planner.model.rows import MAX_BYTES


class OpenSizesError(FormatError):
    """The error for a model in which sizes of dimensions are unknown.

    `rule` is a sentence that names these dimensions, without a remedy. `dims` maps each name to an example of the
    dimension's size or of a whole shape, in which negative lengths are unknown.
    """

    def __init__(self, rule: str, dims: Mapping[str, Size]) -> None:
        """Store the rule and the example sizes; the error's sentence proposes these sizes as options."""
        self.rule, self.dims = rule, dict(dims)
        them = "it" if len(self.dims) == 1 else "them"
        options = [Option("dims", f"{name}={size_text(size)}") for name, size in self.dims.items()][:MAX_SHOWN]
        super().__init__((f"{rule}; give {them}, for example:", *(part for each in options for part in (" ", each))))


_PROPOSED = (1, 64, 512)
"""Sizes to try, so that only working ones are proposed; some models accept just one input length."""


def add_size_advice(
    error: OpenSizesError, options: ModelOptions, read: "Callable[[ModelOptions], ImportedProblem]"
) -> FormatError:
    """Return an error about unknown sizes that proposes sizes with which the model can be read.

    `read` reads the model with given options. The proposal includes names that become required only once other names
    have sizes. If no tried size works, the error has the sentences of the reader's first refusal.
    """
    refusal: InputError | None = None
    for size in _PROPOSED:
        dims, latest = dict[str, Size](), error
        while not latest.dims.keys() <= dims.keys():
            for name, each in latest.dims.items():
                dims[name] = (
                    max(size, each) if isinstance(each, int) else tuple(n if n >= 0 else max(size, -n) for n in each)
                )
            try:
                _ = read(options.model_copy(update={"dims": {**options.dims, **dims}})).problem
            except OpenSizesError as again:
                latest = again
            except InputError as other:
                refusal = refusal or other
                break
            else:
                return FormatError(*OpenSizesError(error.rule, dims).said)
    return FormatError(*(refusal or error).said)


@contextmanager
def stranger_bytes() -> Iterator[None]:
    """Raise ReaderFaultError for an unexpected exception of a reader that runs inside the `with` block.

    Errors of memplan itself pass unchanged. Too deep nesting and too little memory become FormatError.
    """
    try:
        yield
    except MemplanError:
        raise
    except RecursionError as error:
        raise FormatError("must not be nested deeper than its reader can follow") from error
    except MemoryError as error:
        raise FormatError("cannot be read, because the machine has too little memory") from error
    except ModuleNotFoundError:  # The caller reports which extra is missing, so raise the error again.
        raise
    except Exception as error:
        raise reader_fault(error) from error


def reader_fault(error: Exception) -> ReaderFaultError:
    """Return the error for a reader's unexpected exception; it names the exception and memplan's failing line."""
    reason = f" {excerpt(error.args[0])}" if isinstance(error, KeyError) and error.args else ""
    sentence = f"{type(error).__name__}{reason} at {place_of(error)}"
    fault = ReaderFaultError(f"cannot be read because of a memplan fault; please report {sentence}")
    fault.__cause__ = error
    return fault


def place_of(error: BaseException) -> str:
    """Return the file and line of the traceback's last entry outside site-packages; "unknown" without a traceback."""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    if not lines:
        return "unknown"
    file, line = next(((file, line) for file, line in reversed(lines) if "site-packages" not in file), lines[-1])
    return f"{'/'.join(PurePath(file).parts[-3:])}:{line}"


_MORE_THAN_ANY_MEMORY = 2**128
_NOTABLE_BYTES = 1024


@dataclass(frozen=True, slots=True)
class ViewFacts(DescribedFields):
    """The views of a model: aliases of other buffers, and separate buffers."""

    aliases: int = 0
    """The number of views that are aliases."""
    alias_bytes: int = 0
    """The sum of their sizes, in bytes."""
    apart: int = 0
    """The number of views that are separate buffers."""
    apart_bytes: int = 0
    """The sum of their sizes, in bytes."""


_NO_VIEWS = ViewFacts()


class BufferUses(NamedTuple):
    """The accesses of operations to a buffer, as (time, whether it is a write, bytes), in order.

    `is_given` is True if the buffer has a value at the start of its lifetime, and `is_kept` if its last value must be
    where the first one was.
    """

    accesses: Sequence[tuple[int, bool, int]]
    is_given: bool = False
    is_kept: bool = False


def merged_accesses(accesses: Iterable[tuple[int, bool, int]]) -> list[tuple[int, bool, int]]:
    """Return accesses in order, of which several of one kind at one time become one access of all their bytes."""
    merged: dict[tuple[int, bool], int] = {}
    for time, is_write, count in accesses:
        merged[time, is_write] = merged.get((time, is_write), 0) + count
    return [(*key, count) for key, count in sorted(merged.items())]


@dataclass(frozen=True, eq=False)
class ImportedProblem:
    """A problem that was read from a file, with facts about its origin.

    source: the problem, or a function that builds it on first use, because the orders and cascades of a model never
    need the problem.
    own_peak, own_plan: the peak and offsets of the planner that wrote the file, if the file has them.
    own_problem: the problem of that plan, if its pools differ from those of `problem`.
    planner_peak: a function that returns the peak of the runtime's own planner; None unless that planner uses facts
    that the problem lacks.
    beside: the bytes that the runtime allocates in addition to the plan, according to the file.
    kept: the bytes that the runtime keeps for the model itself on the processor `target`, if a processor is named.
    unknown: the parts of the program whose bytes are unknown.
    """

    source: Problem | Callable[[], Problem]
    views: ViewFacts = _NO_VIEWS
    warnings: tuple[Finding, ...] = ()
    own_peak: int | None = None
    own_plan: Plan | None = None
    own_problem: Problem | None = None
    planner_peak: Callable[[], int] | None = None
    beside: int = 0
    kept: int = 0
    target: str = ""
    unknown: tuple[str, ...] = ()

    @cached_property
    def problem(self) -> Problem:
        """The problem; raises OperationsError if its operations break a rule."""
        if isinstance(self.source, Problem):
            return self.source
        with stranger_bytes():
            return self.source()

    @property
    def solved_problem(self) -> Problem:
        """The problem that the file's own plan (`own_plan`) solves."""
        return self.problem if self.own_problem is None else self.own_problem

    @property
    def names(self) -> ProgramNames:
        """The names that a program gives to buffers and time steps; empty if the file has lifetimes only."""
        return NO_NAMES

    @property
    def constants(self) -> tuple[Mapping[str, Any], ...] | None:
        """A program's constants as rows of buffers without lifetimes; None if the file has no program."""
        return None

    @property
    def ends(self) -> tuple[str, ...] | None:
        """The ids of a program's input and output buffers; None if the file has lifetimes only."""
        return None

    @property
    def state_ids(self) -> tuple[str, ...]:
        """The ids of a program's buffers that keep their bytes between two runs, such as its variables."""
        return ()

    @property
    def uses(self) -> Mapping[str, BufferUses]:
        """The accesses of operations to buffers and constants, by id; empty if the file has lifetimes only."""
        return {}

    def problem_in_place(self, spared: Sequence[str]) -> Problem:
        """Return the problem in which operations write outputs over inputs, except over the buffers `spared`.

        Raises OptionError in this class, since a file with lifetimes only has no operations.
        """
        rule = "applies only to files with operations, got a file with lifetimes only"
        raise OptionError.from_rule("in_place", rule, way="leave it out")

    @property
    def has_unknown_scratch(self) -> bool:
        """True if kernels need scratch bytes that the plan does not include, so that a device's total is unknown."""
        return any(warning.is_unknown for warning in self.warnings)


def plan_of_offsets(problem: Problem, offsets: Mapping[int | str, int]) -> Plan | None:
    """Return a plan with these offsets; None if an offset is missing or wrong.

    Each buffer is in its first allowed pool. An alias without an offset gets the offset that follows from the offset of
    the buffer that contains it.
    """
    table, rows = problem.buffers, []
    for i, name in enumerate(table.ids):
        offset = offsets.get(name)
        if offset is None and i in table.aliases:
            root, distance = problem.roots[i]
            offset = None if table.ids[root] not in offsets else offsets[table.ids[root]] + distance
        if offset is None or not 0 <= offset <= MAX_BYTES:
            return None
        pools = problem.allowed_pools(i)
        rows.append((pools[0] if pools else 0, offset))
    names = tuple(pool.name for pool in problem.pools)
    pool, at = column([q for q, _ in rows]), column([offset for _, offset in rows])
    return Plan(placements=PlacementTable(table.ids, names, pool, at))


def constants_finding(sizes: Iterable[int], computing: str, others: str, *, is_all: bool = False) -> list[Finding]:
    """Return a list with at most one finding: about values that depend on constants alone and are not in the plan.

    `computing` and `others` are phrases for the finding's sentence. They name the runtimes that compute these values
    once before the first run, and the runtimes that compute them in every run. If the program also computes other
    values (`is_all` is false), fewer than 1,024 bytes are not reported.
    """
    sizes_ = list(sizes)
    if sum(sizes_) < (1 if is_all else _NOTABLE_BYTES):
        return []
    text = f"values that follow from constants ({len(sizes_)}, of {sum(sizes_)} bytes) are not in the plan: {computing}"
    return [Finding("once-computed", f"{text}; {others} and needs up to that many bytes more")]


def element_count(dims: Iterable[int]) -> int:
    """Return the product of sizes; multiplication stops once the product exceeds any real memory."""
    sizes, count = list(dims), 1
    for size in sizes:
        count *= size
        if count > _MORE_THAN_ANY_MEMORY:
            return 0 if 0 in sizes else count
    return count


def packed_bytes(what: str, elements: int, bits: int, alignment: int) -> int:
    """Return the bytes of `elements` packed elements of `bits` bits each, rounded up to the alignment.

    Raises FormatError about the object `what` if the size exceeds MAX_BYTES.
    """
    size = (elements * bits + 7) // 8
    size = (size + alignment - 1) // alignment * alignment
    if size > MAX_BYTES:
        raise FormatError(f"{what}: must take at most {MAX_BYTES} bytes, got {excerpt(size)}")
    return size


def refuse_dims(options: ModelOptions, what: str) -> None:
    """Raise OptionError if sizes of dimensions are given, because models of the kind `what` have unnamed dimensions."""
    if options.dims:
        raise OptionError.from_rule(
            "dims", f"must not be given, as {what} name no dimensions, got {excerpt(next(iter(options.dims)))}"
        )


def size_of(what: str, size: int, options: ModelOptions) -> int:
    """Return a size in bytes, rounded up to the alignment option; raises FormatError for a size out of range.

    Without the option, the size is not rounded, because compilers also count the last buffer without padding.
    """
    if options.alignment is not None:
        size = -(-size // options.alignment) * options.alignment
    if not 0 <= size <= MAX_BYTES:
        raise FormatError(f"{what}: must be 0 to {MAX_BYTES} bytes, got {excerpt(size)}")
    return size


def align_buffers(table: BufferTable, options: ModelOptions) -> BufferTable:
    """Return the buffers with the alignment option applied and sizes rounded up to it; raises FormatError."""
    if options.alignment is None:
        return table
    sizes = [
        size_of(f"buffer {excerpt(name)}", size, options)
        for name, size in zip(table.ids, table.size.tolist(), strict=True)
    ]
    return replace(table, size=column(sizes), alignment=column([options.alignment] * len(sizes)))


def problem_of_rows(rows: Iterable[Mapping[str, Any]], pools: Iterable[str], name: str | None = None) -> Problem:
    """Return the problem with these rows as buffers; its pools have no sizes. Raises ProblemError."""
    return Problem.model_validate({"name": name, "buffers": tuple(rows), "pools": [Pool(name=pool) for pool in pools]})
