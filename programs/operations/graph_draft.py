"""The construction of a graph of operations from the statements in a function's body."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from memplan.planner.errors import Location, OperationsError
from memplan.programs.operations.graph import GraphOperation, OperationGraph, Region, RegionKind
from memplan.programs.operations.graph_facts import OperationFacts, ProgramFacts, TensorFacts, TensorRole
from memplan.programs.operations.operations import Operations
from memplan.programs.operations.order_check import peak_of
from memplan.programs.operations.statement_uses import FunctionUses, Placed
from memplan.programs.operations.statements import (
    Alloc,
    Branches,
    Call,
    Free,
    Operation,
    Repetition,
    Statement,
    named_buffers,
    nested_blocks,
)

MAX_DEPTH = 100
"""The maximum nesting depth of regions in a graph."""
MAX_OPERATIONS = 1_000_000
"""The maximum number of operations of a program, where those of a function count once for each call."""


class DrawnProgram:
    """The state shared by all graphs of a program: the file's facts, buffer uses by function, and graphs of callees."""

    def __init__(self, operations: Operations, facts: ProgramFacts) -> None:
        """Prepare the graphs of a program; `facts` has the file's facts about its buffers and statements."""
        self.operations, self.facts = operations, facts
        self.uses = FunctionUses(operations)
        self.called: dict[str, tuple[OperationGraph, dict[str, int], int]] = {}
        self.depth = 0
        self.around: OperationFacts | None = None

    def facts_of(self, where: Location) -> OperationFacts | None:
        """Return the file's facts about a statement; None if there are none, or they describe an outer operation."""
        facts = self.facts.operations.get(where)
        return None if facts is self.around else facts

    def groups(self, body: Sequence[Placed]) -> Iterator[list[Placed]]:
        """Yield the statements of each operation to be drawn: a single one, or adjacent ones with the same facts."""
        group: list[Placed] = []
        before: OperationFacts | None = None
        for where, statement in body:
            if isinstance(statement, Alloc | Free):
                continue
            facts = self.facts_of(where)
            if group and (facts is None or facts is not before):
                yield group
                group = []
            group.append((where, statement))
            before = facts
        if group:
            yield group


class GraphDraft:
    """A graph under construction from the statements of a body; `number` maps buffers to tensor numbers.

    The graph counts the bytes of used buffers in `counted`; all other used buffers are resident. Buffers in `given`
    exist before the body runs, and buffers in `kept` are needed after it.
    """

    def __init__(
        self,
        program: DrawnProgram,
        function: str,
        groups: Sequence[list[Placed]],
        counted: set[str],
        given: set[str],
        kept: set[str],
    ) -> None:
        """Start the graph of a function's statements; each group of statements becomes one operation."""
        self.program, self.function, self.groups = program, function, groups
        self.counted, self.given, self.kept = counted, given, kept
        self.declared = program.operations.functions[function].declarations
        self.root = program.uses.root[function]
        self.facts = program.facts if function == program.operations.entry else ProgramFacts()
        self.uses = [program.uses.uses_of(function, group) for group in groups]
        self.touching: dict[str, list[int]] = {}
        for k, uses in enumerate(self.uses):
            for root in uses.touched_buffers:
                self.touching.setdefault(root, []).append(k)
        self.number: dict[str, int] = {}
        self.made: set[str] = set()
        self.n_operations = 0
        self.effects: int | None = None
        self.drawing: Location = ()

    def number_of(self, root: str) -> int:
        """Return the tensor number of a buffer; add a tensor first if the buffer has none."""
        return self.number.setdefault(root, len(self.number))

    def graph(self, name: str | None = None, state_of_calls: int = 0) -> OperationGraph:
        """Return the graph; `state_of_calls`: the bytes of the callees' state. Raises OperationsError if invalid."""
        rows = [self._operation(k, group) for k, group in enumerate(self.groups)]
        size = [self.declared[root].bytes for root in self.number]
        written = {tensor for row in rows for tensor in row.outputs}
        fields = {
            "kept": [tensor for root, tensor in self.number.items() if root in self.kept and root in self.counted],
            "given": [tensor for root, tensor in self.number.items() if root in self.given and tensor in written],
            "resident": [tensor for root, tensor in self.number.items() if root not in self.counted],
        }
        tensors = [self._facts_of_tensor(root) for root in self.number] if self.facts.tensors else []
        if state_of_calls:
            fields["kept"].append(len(size))
            size.append(state_of_calls)
            tensors += [TensorFacts(role="state")] if tensors else []
        rest: dict[str, Any] = {field: tuple(named) for field, named in fields.items()}
        return OperationGraph(name=name, size=tuple(size), tensors=tuple(tensors), ops=tuple(rows), **rest)

    def _operation(self, k: int, group: list[Placed]) -> GraphOperation:
        """Return one operation of the graph, built from a group of statements."""
        where, statement = group[0]
        self.drawing = where
        uses = self.uses[k]
        facts = self.program.facts_of(where) if self.facts.operations else None
        is_simple = len(group) == 1 and isinstance(statement, Operation) and not statement.body
        named = {self.root[name] for _, _, name in named_buffers(statement)} if len(group) == 1 else set()
        lasting = self.given | self.kept
        private = [
            r for r in uses.touched_buffers if self.touching[r] == [k] and r in self.counted and r not in lasting
        ]
        scratch = {root for root in private if root not in uses.reads and root not in uses.writes and root in named}
        deep = {root for root in private if root not in named and not is_simple}
        if len(group) == 1 and isinstance(statement, Branches):
            # A buffer that several branches use must stay a single tensor, so no region may contain the buffer.
            branches = [self._locate_statements(where, *block) for block in nested_blocks(statement)]
            touched = Counter(
                root for body in branches for root in self.program.uses.uses_of(self.function, body).touched_buffers
            )
            deep = {root for root in deep if touched[root] == 1}
        apart = scratch | deep
        reads = [root for root in uses.reads if root not in apart and self._exists(root)]
        makes = [
            root
            for root in uses.touched_buffers
            if root not in apart and not (root in uses.reads and self._exists(root))
        ]
        makes += [root for root in uses.writes if root not in makes and root not in apart]
        work = sum(self._bytes(root) for root in scratch)
        fields: dict[str, Any] = {}
        if is_simple and isinstance(statement, Operation):
            reads = [root for root in map(self.root.__getitem__, statement.inputs) if self._exists(root)]
            fields = (
                self._viewed_shapes(statement) if self.facts.tensors and len(reads) == len(statement.inputs) else {}
            )
        inputs, outputs = tuple(map(self.number_of, reads)), tuple(map(self.number_of, makes))
        if not is_simple:
            exact = self._counted_inside(k, statement if len(group) == 1 else None, apart)
            fields["regions"], inside = self._regions(group, deep, exact)
            work += inside - sum(map(self._bytes, exact))
        # An operation must not free bytes when it starts, so negative work is limited to its new outputs.
        work = max(work, -sum(self._bytes(root) for root in {*makes}.difference(self.made) if not self._exists(root)))
        self.made.update(makes)
        return GraphOperation(
            inputs=inputs, outputs=outputs, work=work, **fields, **self._fact_fields(k, group, facts, makes)
        )

    def _exists(self, root: str) -> bool:
        return root in self.made or root in self.given or root not in self.counted

    def _counted_inside(self, k: int, statement: Statement | None, apart: set[str]) -> set[str]:
        """Return the buffers whose bytes regions may count: new outputs of operation k, and inputs that only it reads.

        Buffers in `apart`, which operation k alone uses, are excluded.
        """
        if isinstance(statement, Repetition | Call):
            return set()
        uses = self.uses[k]
        direct = {self.root[name] for _, _, name in named_buffers(statement)} if statement is not None else set()
        condition = direct if isinstance(statement, Branches) else set()
        roots = set()
        for root in uses.touched_buffers:
            if root in apart or root in direct - condition or root not in self.counted:
                continue
            touching = self.touching[root]
            is_read_here_only = root not in uses.writes and root not in self.kept and touching[-1] == k
            if (touching[0] == k and root not in self.given and root not in condition) or (
                is_read_here_only and len(touching) == (1 if root in self.given else 2)
            ):
                roots.add(root)
        return roots

    def _regions(self, group: list[Placed], deep: set[str], exact: set[str]) -> tuple[tuple[Region, ...], int]:
        """Return the regions of an operation, and the largest of the regions' peaks in bytes.

        `deep` has the buffers used only inside the operation; `exact` has the operation's inputs and outputs that the
        regions count.
        """
        where, statement = group[0]
        if len(group) == 1 and isinstance(statement, Call):
            drawn = [self._region_of_call(statement)]
        elif len(group) == 1 and isinstance(statement, Repetition):
            carried = {root for root in deep if self.program.uses.crosses(self.function, statement.loop, root)}
            body: list[Placed] = [((*where, "loop", j), inner) for j, inner in enumerate(statement.loop)]
            drawn = [self._new_region("loop", body, deep, carried, carried)]
        elif len(group) == 1:
            kind: RegionKind = "branch" if isinstance(statement, Branches) else "call"
            bodies = [self._locate_statements(where, block, inner) for block, inner in nested_blocks(statement)]
            drawn = [self._new_region(kind, body, deep, *self._region_ends(exact)) for body in bodies if body]
        else:
            drawn = [self._new_region("call", group, deep, *self._region_ends(exact))]
        return tuple(region for region, _ in drawn), max((peak for _, peak in drawn), default=0)

    def _locate_statements(self, where: Location, block: Location, body: Sequence[Statement]) -> list[Placed]:
        return [((*where, *block, j), one) for j, one in enumerate(body)]

    def _region_ends(self, exact: set[str]) -> tuple[set[str], set[str]]:
        ends = {root for root in exact if self._exists(root)}
        return ends, exact - ends

    def _new_region(
        self, kind: RegionKind, body: list[Placed], deep: set[str], given: set[str], kept: set[str]
    ) -> tuple[Region, int]:
        """Return a region made of the statements in `body`, and its peak in bytes.

        The buffers in `deep` are used by this operation's nested statements only. Buffers in `given` exist before the
        region, and buffers in `kept` are needed after it.
        """
        program = self.program
        facts = program.facts.operations.get(self.drawing)
        program.depth += 1
        if program.depth > MAX_DEPTH:
            raise OperationsError(f"functions: must nest at most {MAX_DEPTH} branches, loops and calls, got more")
        around, program.around = program.around, facts
        inside = GraphDraft(program, self.function, list(program.groups(body)), deep | given | kept, given, kept)
        graph = inside.graph()
        program.around = around
        program.depth -= 1
        self._count_operations(inside.n_operations)
        outer = tuple((tensor, self.number[root]) for root, tensor in inside.number.items() if root not in deep)
        return Region(kind=kind, graph=graph, outer=outer), peak_of(graph, range(len(graph.ops)))

    def _region_of_call(self, call: Call) -> tuple[Region, int]:
        """Return the region of a call and its peak in bytes; all calls of a function share one graph."""
        function = self.program.operations.functions[call.call]
        if call.call not in self.program.called:
            self.program.depth += 1
            if self.program.depth > MAX_DEPTH:
                raise OperationsError(f"functions: must nest at most {MAX_DEPTH} branches, loops and calls, got more")
            body: list[Placed] = [((k,), statement) for k, statement in enumerate(function.body)]
            own = {name for name in function.temporaries if not function.declarations[name].persistent}
            inside = GraphDraft(self.program, call.call, list(self.program.groups(body)), own, set(), set())
            self.program.called[call.call] = inside.graph(), inside.number, inside.n_operations
            self.program.depth -= 1
        graph, number, n_operations = self.program.called[call.call]
        self._count_operations(n_operations)
        formals = dict(zip((*function.params, *function.results), (*call.inputs, *call.outputs), strict=True))
        outer = tuple(
            (number[formal], self.number[self.root[actual]]) for formal, actual in formals.items() if formal in number
        )
        return Region(kind="call", graph=graph, outer=outer), peak_of(graph, range(len(graph.ops)))

    def _count_operations(self, n_operations: int) -> None:
        """Add `n_operations` to the number of operations in all graphs; raises OperationsError above the limit."""
        self.n_operations += n_operations
        if self.n_operations > MAX_OPERATIONS:
            raise OperationsError(f"functions: must run at most {MAX_OPERATIONS} operations, calls included, got more")

    def _facts_of_tensor(self, root: str) -> TensorFacts:
        """Return the facts about a buffer, including its role in the program."""
        entry = self.program.operations.functions[self.program.operations.entry]
        role: TensorRole = "activation"
        if root in entry.constants:
            role = "weight"
        elif self.declared[root].persistent:
            role = "state"
        elif root in entry.params:
            role = "input"
        elif root in entry.results:
            role = "output"
        return (self.facts.tensors.get(root) or TensorFacts(name=root)).model_copy(update={"role": role})

    def _viewed_shapes(self, statement: Operation) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for field, names in (("in_shapes", statement.inputs), ("out_shapes", statement.outputs)):
            seen = [self._shape(name) for name in names]
            whole = [self._shape(self.root[name]) for name in names]
            if seen != whole and len({self.root[name] for name in names}) == len(names):
                fields[field] = tuple(None if one == other else one for one, other in zip(seen, whole, strict=True))
        return fields

    def _shape(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of a buffer in the file's facts, or None if it is unknown."""
        facts = self.facts.tensors.get(name)
        return facts.shape if facts is not None else None

    def _fact_fields(
        self, k: int, group: list[Placed], facts: OperationFacts | None, makes: Sequence[str]
    ) -> dict[str, Any]:
        """Return fields of operation k from facts and effects: its name, kind, attributes, source and `after`."""
        statement = group[0][1]
        op = statement.op if isinstance(statement, Operation) else None
        self._count_operations(1)
        fields: dict[str, Any] = {"name": op} if op else {}
        is_simple = len(group) == 1 and isinstance(statement, Operation) and not statement.body
        if facts is not None:
            fields = {"name": facts.name or op, "kind": facts.kind, "attributes": facts.attributes}
            fields["source"] = facts.source
        if (is_simple and not makes) or self.program.uses.has_effects(group):
            fields["after"] = () if self.effects is None else (self.effects,)
            self.effects = k
        return fields

    def _bytes(self, root: str) -> int:
        return self.declared[root].bytes
