"""A program that a reader of models builds step by step: values that are written once, views, branches and loops.

A view (such as a reshape) shares the bytes of its source. It becomes an alias, which needs no operation, if this cannot
change a result: then the family (a tensor and all its views) meets three conditions. No value of it is a constant,
because constants are stored elsewhere. No value is persistent or carried by a loop, because it may be overwritten while
a view of its old contents is still read. At most one value is an input or output of the program, as the caller owns it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

from memplan.planner.errors import FormatError, Location, OptionError, excerpt
from memplan.planner.foreign.imported import ViewFacts, plan_of_offsets
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.finding import MAX_LISTED, Finding
from memplan.programs.lifetimes import problem_of
from memplan.programs.models.imported_program import ImportedProgram
from memplan.programs.operations.graph_facts import OperationFacts, ProgramFacts, TensorFacts
from memplan.programs.operations.operations import Operations, operations_from
from memplan.programs.symbols.numbers import SymbolicNumber

Kind = Literal["plain", "param", "constant", "persistent", "carried", "chosen"]
"""The kinds of values. `carried`: passed from one trip of a loop to the next. `chosen`: written by several branches."""
MOST_USES = 1_000_000
"""A program's operations may use values at most this many times; a value used by two operations counts twice."""
Statements = list[dict[str, Any]]


@dataclass
class Uses:
    """Counts the uses of values, for file formats in which a short tuple can stand for very many values."""

    count: int = 0

    def add(self, count: int) -> None:
        """Add uses to the count before they are expanded. Raises FormatError above MOST_USES."""
        self.count += count
        if self.count > MOST_USES:
            raise FormatError(f"operations: must use values at most {MOST_USES} times in total, got more")


class _Value(NamedTuple):
    size: int
    kind: Kind
    pool: str | None


@dataclass
class _Family:
    """A set of values that share the same bytes. It stores facts about its members, so that no scan is needed."""

    members: list[str]
    kinds: frozenset[Kind]
    has_result: bool
    first_serial: int


class OperationsDraft:
    """A program of one function, to which a reader adds statements; they go into the innermost open block.

    If the options state scratch memory for an operator, its operations get a temporary of that size. For a runtime with
    separate scratch memory, `plans_scratch` is False, and `largest_scratch` is the largest scratch of an operation.
    """

    def __init__(
        self,
        name: str | None,
        results: Iterable[str],
        options: ModelOptions,
        alignment: int,
        *,
        plans_scratch: bool = True,
    ) -> None:
        """Make an empty program; `results` are the names of its outputs, and `alignment` is in bytes."""
        self.name, self.options, self.alignment = name, options, alignment
        self.largest_scratch = 0
        self._plans_scratch = plans_scratch
        self.results = tuple(results)
        self._is_result = frozenset(self.results)
        self._values: dict[str, _Value] = {}
        self._families: dict[str, _Family] = {}
        self._blocks: list[Statements] = [[]]
        self._starts = [0]
        self._apart: list[Finding] = []
        self._alias_sizes: list[int] = []
        self._apart_sizes: list[int] = []
        self._tensor_facts: dict[str, TensorFacts] = {}
        self._facts: OperationFacts | None = None
        self._has_effects = False
        self._facts_of: dict[int, OperationFacts] = {}
        self._names_with_scratch: set[str] = set()
        self._operator_names: dict[str, None] = {}

    def declare(self, name: str, size: int, kind: Kind = "plain", pool: str | None = None) -> None:
        """Declare a value of `size` bytes, which must be in `pool`, or may be in any pool if that is None."""
        self._values[name] = _Value(size, kind, pool)
        self._families[name] = _Family([name], frozenset({kind}), name in self._is_result, len(self._values) - 1)

    def describe(self, name: str, facts: TensorFacts) -> None:
        """Record facts that the file contains about a value, such as its shape and its element type."""
        self._tensor_facts[name] = facts

    @contextmanager
    def drawing(self, facts: OperationFacts | None, *, has_effects: bool = False) -> Iterator[None]:
        """Attribute the statements that this block itself adds, without nested blocks, to one operation of the file."""
        around = self._facts, self._has_effects
        self._facts, self._has_effects = facts, has_effects
        yield
        self._facts, self._has_effects = around

    def is_declared(self, name: str) -> bool:
        """Return True if a value of this name was declared."""
        return name in self._values

    def size(self, name: str) -> int:
        """Return the size, in bytes, of a declared value."""
        return self._values[name].size

    def is_constant(self, name: str) -> bool:
        """Return True if the value of this name is a constant."""
        return self._values[name].kind == "constant"

    def operation(
        self, op: str, inputs: Iterable[str], outputs: Iterable[str], temporaries: Iterable[str] = ()
    ) -> None:
        """Add an operation with its inputs, outputs and temporaries, and with scratch memory that the options state."""
        row: dict[str, Any] = {"op": op, "inputs": tuple(inputs), "outputs": tuple(outputs)}
        if scratch := (*temporaries, *self._stated_scratch(op, row["outputs"])):
            row["temporaries"] = scratch
        self._add(row | {"has_effects": True} if self._has_effects else row)

    def _stated_scratch(self, op: str, outputs: Sequence[str]) -> Iterator[str]:
        """Declare and yield the scratch memory that the options state for an operation's output or its operator."""
        self._operator_names[op] = None
        stated = self.options.scratch
        if name := next((each for each in (*outputs, op) if each in stated), None):
            self._names_with_scratch.add(name)
            self.largest_scratch = max(self.largest_scratch, stated[name])
            if stated[name] and self._plans_scratch:
                scratch = f"#scratch/{len(self._values)}"
                self.declare(scratch, stated[name])
                yield scratch

    def _require_scratch_names(self) -> None:
        """Raise OptionError if the options state scratch memory for a name that no operation has."""
        if other := next((name for name in self.options.scratch if name not in self._names_with_scratch), None):
            some = ", ".join(sorted(self._operator_names)[:MAX_LISTED]) or "none"
            raise OptionError.from_rule(
                "scratch", f"must name operators that run ({some}), or outputs of operations, got {excerpt(other)}"
            )

    def view(self, op: str, source: str, result: str, others: Iterable[str] = ()) -> None:
        """Add a view of `source`: as an alias if this cannot change a result, else as an operation that copies.

        `others` are further values that this operation reads, such as a shape.
        """
        if self._families[source] is self._families[result]:  # A second run of the operation adds no second view.
            return
        self._join_tensors(op, source, result, self._separation_reason(source, result), others)

    def hand_out(self, op: str, source: str, result: str) -> None:
        """Let the open branch return `source` as the result of its choice.

        If only this result needs `source`, both share their bytes; else `source` is copied.
        """
        self._join_tensors(op, source, result, self._overwrite_obstacle(source, result))

    def begin_block(self) -> None:
        """Open the body of a branch or loop, to which further statements are added."""
        self._blocks.append([])
        self._starts.append(len(self._values))

    def end_block(self) -> Statements:
        """Close the innermost open body, and return its statements."""
        self._starts.pop()
        return self._blocks.pop()

    def branches(self, inputs: Iterable[str], bodies: Iterable[Statements]) -> None:
        """Add a choice between branches (lists of statements), exactly one of which runs."""
        self._add({"branches": tuple(map(tuple, bodies)), "inputs": tuple(inputs)})

    def loop(self, body: Statements, trips: int | None) -> None:
        """Add a loop that runs `trips` times; None means that the number of trips is unknown and may be 0."""
        if trips != 0:
            row = {"loop": tuple(body)}
            self._add(row if trips is None else row | {"trips": trips})

    def operations(self) -> Operations:
        """Return the program built so far. Raises OperationsError if it is invalid."""
        function = {
            "params": tuple(name for name, value in self._values.items() if value.kind == "param"),
            "results": self.results,
            "constants": tuple(name for name, value in self._values.items() if value.kind == "constant"),
            "buffers": tuple(self._buffer_rows()),
            "body": tuple(self._blocks[0]),
        }
        program: dict[str, Any] = {"name": self.name, "functions": {"main": function}}
        pools = dict.fromkeys(value.pool for value in self._values.values() if value.pool is not None)
        if pools:
            program["pools"] = tuple({"name": pool} for pool in pools)
        return operations_from(program)

    def make_program(
        self,
        warnings: Iterable[Finding] = (),
        own_peak: int | None = None,
        own_offsets: Mapping[str, int] | None = None,
    ) -> ImportedProgram:
        """Return the finished program, its planning problem, its warnings, and the facts about its operations.

        `own_offsets` has the offsets that the file itself gives its values. Raises OperationsError for an invalid
        program, and OptionError if scratch is stated for an operator that the program does not run.
        """
        self._require_scratch_names()
        operations = self.operations()
        facts = ProgramFacts(self._tensor_facts, dict(self._facts_in(self._blocks[0], ())))
        offsets: dict[int | str, int] = {f"main/{name}": offset for name, offset in (own_offsets or {}).items()}
        imported = ImportedProgram(
            partial(problem_of, operations),
            self.views,
            (*self.warnings, *warnings),
            own_peak,
            operations=operations,
            facts=facts,
            symbolic_sizes={
                f"main/{name}": value.size
                for name, value in self._values.items()
                if isinstance(value.size, SymbolicNumber)
            },
        )
        if own_offsets is None:
            return imported
        return replace(imported, source=imported.problem, own_plan=plan_of_offsets(imported.problem, offsets))

    @property
    def views(self) -> ViewFacts:
        """The number and the total bytes of the views that are aliases, and of the views that are separate buffers."""
        aliases, apart = self._alias_sizes, self._apart_sizes
        return ViewFacts(len(aliases), sum(aliases), len(apart), sum(apart))

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Warnings that give the reasons why views are separate buffers; none if the options request separate views."""
        return tuple(self._apart[:MAX_LISTED])

    def _add(self, row: dict[str, Any]) -> None:
        self._blocks[-1].append(row)
        if self._facts is not None:
            self._facts_of[id(row)] = self._facts

    def _facts_in(self, rows: Sequence[dict[str, Any]], where: Location) -> Iterator[tuple[Location, OperationFacts]]:
        for k, row in enumerate(rows):
            if id(row) in self._facts_of:
                yield (*where, k), self._facts_of[id(row)]
            for j, branch in enumerate(row.get("branches", ())):
                yield from self._facts_in(branch, (*where, k, "branches", j))
            if "loop" in row:
                yield from self._facts_in(row["loop"], (*where, k, "loop"))

    def _join_tensors(self, op: str, source: str, result: str, reason: str | None, reads: Iterable[str] = ()) -> None:
        """Merge the families of a view and its source or, if `reason` is given, add a copy and report the reason."""
        size = self._values[result].size
        if reason is None:
            self._alias_sizes.append(size)
            mine, others = self._families[source], self._families[result]
            # Merging the smaller family into the larger one avoids quadratic time for a long chain of views.
            mine, others = (mine, others) if len(mine.members) >= len(others.members) else (others, mine)
            mine.members += others.members
            mine.kinds |= others.kinds
            mine.has_result |= others.has_result
            mine.first_serial = min(mine.first_serial, others.first_serial)
            for name in others.members:
                self._families[name] = mine
            return
        self.operation(op, (source, *reads), (result,))
        self._apart_sizes.append(size)
        if self.options.views == "alias":
            message = f"{op} {excerpt(result)}: takes {size} bytes beside {excerpt(source)}, because {reason}"
            self._apart.append(Finding("view-apart", message, (f"main/{result}",)))

    def _separation_reason(self, source: str, result: str) -> str | None:
        """Return why a view must be a separate buffer, as a clause, or None if it can be an alias of its source."""
        if self.options.views == "separate":
            return "separate views were requested"
        if self._values[source].size != self._values[result].size:
            return "their sizes differ"
        if self._values[source].pool != self._values[result].pool:
            return "they are in different memories"
        kinds = self._families[source].kinds | self._families[result].kinds
        if "constant" in kinds:
            return "constants are stored elsewhere"
        if "carried" in kinds:
            return "a loop writes it again"
        if "persistent" in kinds:
            return "a persistent value may be written again"
        if self._belongs_to_caller(source) and self._belongs_to_caller(result):
            return "the caller owns inputs and outputs separately"
        return None

    def _overwrite_obstacle(self, source: str, result: str) -> str | None:
        """Return why a branch must copy a source to its output, as a clause, or None if it can write in place."""
        reason = self._separation_reason(source, result)
        if reason is not None:
            return reason
        if "chosen" in self._families[source].kinds:
            return "it is written for another output, too"
        # A value made before the branch began may also be read outside of the branch, so it must not be overwritten.
        if self._families[source].first_serial < self._starts[-1]:
            return "it may be used outside of the branch"
        return None

    def _belongs_to_caller(self, name: str) -> bool:
        family = self._families[name]
        return "param" in family.kinds or family.has_result

    def _buffer_rows(self) -> Iterable[Mapping[str, Any]]:
        """Yield a row for each buffer; an alias refers to its family's input or output, or else to its first value."""
        root: dict[int, str] = {}
        for name, family in self._families.items():
            if id(family) not in root or self._values[name].kind == "param" or name in self._is_result:
                root[id(family)] = name
        for name, value in self._values.items():
            row: dict[str, Any] = {"id": name, "size": value.size, "alignment": self.alignment}
            inside = root[id(self._families[name])]
            if inside != name:
                row["alias_of"] = inside
            elif value.pool is not None:
                row["pools"] = (value.pool,)
            if value.kind == "persistent":
                row["persistent"] = True
            yield row
