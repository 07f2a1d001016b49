"""The results of readers, and the border where faults of a stranger's bytes become errors of the file.

What bytes do to a reader that it did not foresee is a fault of memplan, reported as one everywhere. Compilers' dumps
give lifetimes and no operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from traceback import walk_tb
from typing import Any

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
from memplan.planner.model.finding import Finding
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Pool, Problem
from memplan.planner.model.rows import MAX_BYTES


class OpenSizesError(FormatError):
    """Sizes of a model are open.

    rule: a sentence that names them and gives no remedy.
    dims: by name, an example of a size or of a whole shape; lengths that are not given yet are negative.
    """

    def __init__(self, rule: str, dims: Mapping[str, Size]) -> None:
        self.rule, self.dims = rule, dict(dims)
        them = "it" if len(self.dims) == 1 else "them"
        options = [Option("dims", f"{name}={size_text(size)}") for name, size in self.dims.items()][:MAX_SHOWN]
        super().__init__((f"{rule}; give {them}, for example:", *(part for each in options for part in (" ", each))))


_PROPOSED = (1, 64, 512)
"""Sizes that are tried before they are proposed; some models are made for inputs of a certain length."""


def add_size_advice(
    error: OpenSizesError, options: ModelOptions, read: Callable[[ModelOptions], ImportedProblem]
) -> FormatError:
    """Return the sentence about open sizes: sizes with which the model can be read, or why no sizes help.

    Names that are required once others are given are all in it.
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
    """Raise ReaderFaultError for an exception that a reader did not foresee; memplan's own errors pass unchanged."""
    try:
        yield
    except MemplanError:
        raise
    except RecursionError as error:
        raise FormatError("must not be nested deeper than its reader can follow") from error
    except MemoryError as error:
        raise FormatError("needs more memory to be read than there is") from error
    except ModuleNotFoundError:  # an extra, which the entrances name
        raise
    except Exception as error:
        raise reader_fault(error) from error


def reader_fault(error: Exception) -> ReaderFaultError:
    """Return the sentence about a reader's error: its kind, and memplan's last line in its traceback."""
    reason = f" {excerpt(error.args[0])}" if isinstance(error, KeyError) and error.args else ""
    sentence = f"{type(error).__name__}{reason} at {place_of(error)}"
    fault = ReaderFaultError(f"cannot be read, by a fault of memplan; please report {sentence}")
    fault.__cause__ = error
    return fault


def place_of(error: BaseException) -> str:
    """Return the file and the line of memplan's own code that raised an error, or whose call raised it."""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    if not lines:
        return "unknown"
    file, line = next(((file, line) for file, line in reversed(lines) if "site-packages" not in file), lines[-1])
    return f"{'/'.join(PurePath(file).parts[-3:])}:{line}"


_ENDLESS = 2**128
_MUCH = 1024


@dataclass(frozen=True, slots=True)
class ViewFacts:
    """The numbers and bytes of a model's views: of aliases, which take no further bytes, and of separate views."""

    aliases: int = 0
    alias_bytes: int = 0
    apart: int = 0
    apart_bytes: int = 0


_NO_VIEWS = ViewFacts()


@dataclass(frozen=True, eq=False)
class ImportedProblem:
    """A problem, and where it comes from.

    `source` is the problem, or a function that makes it on first use: orders and cascades of a model need no problem.
    `own_peak` is what the planner that wrote the file used, if the file says so, and `own_plan` has its offsets, if the
    file has them all; `own_problem` is the problem that this plan solves, where its pools differ from the pools of
    `problem`. `planner_peak` returns the peak of the runtime's own planner, where the problem lacks facts that this
    planner uses. `beside` counts the bytes that the runtime allocates in addition to the plan, as the file says.
    """

    source: Problem | Callable[[], Problem]
    views: ViewFacts = _NO_VIEWS
    warnings: tuple[Finding, ...] = ()
    own_peak: int | None = None
    own_plan: Plan | None = None
    own_problem: Problem | None = None
    planner_peak: Callable[[], int] | None = None
    beside: int = 0

    @cached_property
    def problem(self) -> Problem:
        """The problem; raises OperationsError where operations pose none."""
        if isinstance(self.source, Problem):
            return self.source
        with stranger_bytes():
            return self.source()

    @property
    def solved_problem(self) -> Problem:
        """The problem that `own_plan` is of."""
        return self.problem if self.own_problem is None else self.own_problem

    @property
    def names(self) -> ProgramNames:
        """The names that a program gives to the problem; none where the file has lifetimes only."""
        return NO_NAMES

    @property
    def constants(self) -> tuple[Mapping[str, Any], ...] | None:
        """The constants of a program, as rows of buffers without lifetimes; None where the file has no program."""
        return None

    @property
    def ends(self) -> tuple[str, ...] | None:
        """The buffers of the inputs and outputs of a program; None where the file has lifetimes only."""
        return None

    def problem_in_place(self, spared: Sequence[str]) -> Problem:
        """Return the problem whose operations write over inputs, except `spared` buffers; raises OptionError."""
        rule = "must be given for files that are read with their operations, got one of lifetimes"
        raise OptionError.from_rule("in_place", rule, way="leave it out")

    @property
    def has_unknown_scratch(self) -> bool:
        """True if kernels require bytes that are in no plan, so that none says what the device takes."""
        return any(warning.is_unknown for warning in self.warnings)


def plan_of(problem: Problem, offsets: Mapping[int | str, int]) -> Plan | None:
    """Return the plan of known offsets, each buffer in the first pool that it may use; None where one is not known.

    An alias whose offset is not known follows its buffer.
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
    """Return a finding about values that follow from constants alone, and are in no plan, where they take much.

    `computing` are runtimes that compute them once, before the first run, and `others` such that do it in every run.
    With `is_all`, the program computes nothing else, and any are said.
    """
    sizes_ = list(sizes)
    if sum(sizes_) < (1 if is_all else _MUCH):
        return []
    text = f"values that follow from constants ({len(sizes_)}, of {sum(sizes_)} bytes) are not in the plan: {computing}"
    return [Finding("once-computed", f"{text}; {others} and needs up to so many bytes more")]


def element_count(dims: Iterable[int]) -> int:
    """Return the product of sizes; multiplication stops once the product exceeds any memory."""
    sizes, count = list(dims), 1
    for size in sizes:
        count *= size
        if count > _ENDLESS:
            return 0 if 0 in sizes else count
    return count


def packed_bytes(what: str, elements: int, bits: int, alignment: int) -> int:
    """Return the bytes of so many elements, packed, and rounded up to the alignment; raises FormatError."""
    size = (elements * bits + 7) // 8
    size = (size + alignment - 1) // alignment * alignment
    if size > MAX_BYTES:
        raise FormatError(f"{what}: must take at most {MAX_BYTES} bytes, got {excerpt(size)}")
    return size


def refuse_dims(options: ModelOptions, what: str) -> None:
    """Raise OptionError for sizes of named dimensions, as `what` has no such dimensions."""
    if options.dims:
        raise OptionError.from_rule(
            "dims", f"must not be given, as {what} name no dimensions, got {excerpt(next(iter(options.dims)))}"
        )


def size_of(what: str, size: int, options: ModelOptions) -> int:
    """Return a size, rounded up to the alignment of the options; raises FormatError.

    Without one it is not rounded: compilers count the last buffer's own bytes only.
    """
    if options.alignment is not None:
        size = -(-size // options.alignment) * options.alignment
    if not 0 <= size <= MAX_BYTES:
        raise FormatError(f"{what}: must be 0 to {MAX_BYTES} bytes, got {excerpt(size)}")
    return size


def align_buffers(table: BufferTable, options: ModelOptions) -> BufferTable:
    """Return buffers aligned, and with sizes rounded up, to the alignment of the options; raises FormatError."""
    if options.alignment is None:
        return table
    sizes = [
        size_of(f"buffer {excerpt(name)}", size, options)
        for name, size in zip(table.ids, table.size.tolist(), strict=True)
    ]
    return replace(table, size=column(sizes), alignment=column([options.alignment] * len(sizes)))


def problem_of(rows: Iterable[Mapping[str, Any]], pools: Iterable[str], name: str | None = None) -> Problem:
    """Return the problem of such buffers in pools as large as they need to be; raises ProblemError."""
    return Problem.model_validate({"name": name, "buffers": tuple(rows), "pools": [Pool(name=pool) for pool in pools]})
