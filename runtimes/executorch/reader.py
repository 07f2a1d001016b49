"""Reader of ExecuTorch programs: planned tensors are buffers, whose lifetimes follow from the order of instructions.

The file lists the values of an instruction, but not which of them it writes. This reader assumes that a kernel writes
its last argument, which represents its result, and that a delegate writes its last argument and all directly preceding
arguments that are still unwritten. A tensor that is read but never written is a view if it has the offset and the bytes
of a written one, and otherwise state. Buffers are aligned to 16 bytes, ExecuTorch's default. Workspaces of kernels and
delegates are not in the problem: the file states them only for Arm's Ethos-U, and ExecuTorch allocates these outside
the plan, one call at a time.

Source: pytorch/executorch v1.5.1, exir/emit/_emitter.py, and runtime/executor/method.cpp for the effects of
instructions.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from memplan.planner.errors import FormatError, OptionError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, packed_bytes
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.finding import MAX_LISTED, Finding
from memplan.programs.operations.graph_facts import OperationFacts
from memplan.programs.readers.aten import kind_of_aten
from memplan.programs.readers.draft import Kind, OperationsDraft
from memplan.runtimes.executorch.file import FIRST, Instruction, Method, read_methods, tables_of_methods
from memplan.runtimes.executorch.method_memory import method_memory
from memplan.runtimes.tflite.tflm_targets import target_of

ALIGNMENT = 16
_VIEW = "executorch_prim::et_view"
_WITH_SCRATCH = "cortex_m::"
_PUT = "executorch_prim::et_copy_index"
"""The operator that writes the result of a loop iteration into a slice of its first argument."""
_SEVERAL = 2
"""The trip count assumed for loops; lifetimes depend only on whether the count exceeds one."""
_MOST_INSIDE = 64
"""The maximum nesting depth of loops and branches."""


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Return the problem of a program's method `forward`, or of its first method if no method has this name.

    Raises FormatError for a broken file, and OptionError if the options name dimensions.
    """
    if options.dims:
        name = next(iter(options.dims))
        raise OptionError.from_rule(
            "dims", f"must not be given, as ExecuTorch names no dimensions, got {excerpt(name)}"
        )
    methods = read_methods(data)
    method = next((method for method in methods if method.name == FIRST), methods[0])
    program = _Program(method, options)
    program.run()
    others = [other.name for other in methods if other is not method]
    own_peak = sum(method.memories[1:]) if len(method.memories) > 1 else None
    findings = [*_omission_findings(method, others, options.scratch)]
    if stated := program.draft.largest_scratch:
        message = f"kernels take up to {stated:,} bytes of scratch, as stated, in addition to what is planned"
        findings.append(Finding("stated-scratch", message))
    found = program.draft.make_program(findings, own_peak, program.planned_offsets())
    beside = max([stated, *(row.scratch or 0 for row in method.delegates)])
    if options.target is None:
        return replace(found, beside=beside)
    target = target_of(options.target, None)
    memory = method_memory(tables_of_methods(data)[methods.index(method)], target.pointer)
    return replace(
        found,
        beside=max(beside, memory.chosen),
        kept=memory.kept,
        target=f"{target.name} ({8 * target.pointer}-bit)",
        unknown=tuple(f"delegate {name}" for name in _unknown_delegates(method, options.scratch)),
    )


def _unknown_delegates(method: Method, stated: Container[str]) -> list[str]:
    known = {row.name for row in method.delegates if row.scratch is not None or row.name in stated}
    return sorted({row.name for chain in method.chains for row in chain if row.kind == "delegate"} - known)


def _omission_findings(method: Method, others: list[str], stated: Container[str]) -> Iterator[Finding]:
    """Yield a finding for the methods `others` that the problem omits, and for the working memory of each delegate.

    Delegates whose working memory the user specified (`stated`) are not reported as unknown.
    """
    if others:
        message = f"only method {excerpt(method.name)} is read, not {', '.join(map(excerpt, others[:10]))}"
        yield Finding("other-methods", message)
    for row in method.delegates:
        if row.scratch:
            message = f"{row.name} takes {row.scratch:,} bytes of scratch beside what is planned, while it is called"
            yield Finding("delegate-scratch", message)
    if names := _unknown_delegates(method, stated):
        what = ", ".join(map(excerpt, names[:MAX_LISTED]))
        yield Finding(
            "unknown-delegates", f"the memory that delegates ({what}) allocate themselves is not stated in any file"
        )


class _Program:
    """The conversion of the instructions of one method to a draft of operations."""

    def __init__(self, method: Method, options: ModelOptions) -> None:
        """Start an empty draft; count the uses of each tensor, by which scratch is recognized."""
        self.method = method
        self.alignment = options.alignment or ALIGNMENT
        results = dict.fromkeys(map(_id_of, filter(self._is_planned, method.tensors_of(method.outputs))))
        # ExecuTorch's kernels take scratch from a separate allocator, which the runtime resets after each instruction.
        self.draft = OperationsDraft(method.name or None, results, options, self.alignment, plans_scratch=False)
        self.written: set[int] = set()
        rows = (row for chain in method.chains for row in chain)
        self.uses = Counter(value for row in rows for value in method.tensors_of(row.arguments))
        self.last_at: dict[tuple[int, int], int] = {}
        self.chain: tuple[Instruction, ...] = ()
        self.loops: dict[int, list[int]] = {}
        self.depth = self.k = 0

    def run(self) -> None:
        """Add the method's inputs and all instructions to the draft, and declare the outputs."""
        for value in self.method.tensors_of(self.method.inputs):
            if self._is_planned(value):
                self._declare(value, "param")
                self._note_write(value)
        for k, chain in enumerate(self.method.chains):
            self.k, self.chain, self.loops = k, chain, {}
            for at, row in enumerate(chain):
                if row.kind == "jump" and row.destination <= at:
                    self.loops.setdefault(row.destination, []).append(at)
            self._convert_range(0, len(chain))
        self._read_operands(self.method.outputs)

    def planned_offsets(self) -> dict[str, int]:
        """Return each tensor's offset in bytes in the file's plan, counted as if its memories followed one another."""
        base = [0, *accumulate(self.method.memories[1:], initial=0)]
        return {
            _id_of(value): base[tensor.place[0]] + tensor.place[1]
            for value, tensor in self.method.tensors.items()
            if tensor.place is not None and 0 < tensor.place[0] < len(base) and self.draft.is_declared(_id_of(value))
        }

    def _convert_range(self, at: int, end: int) -> None:
        """Convert the instructions of the current chain from index `at` up to, but not including, index `end`."""
        while at < end:
            row = self.chain[at]
            if self.loops.get(at):
                at = self._convert_loop(at, end)
            elif row.kind == "jump":
                at = self._convert_choice(at, end)
            else:
                facts = OperationFacts(row.name, kind_of_aten(row.name), {}, (self.k, at))
                # A delegate may keep internal state, so its calls have effects.
                with self.draft.drawing(facts, has_effects=row.kind == "delegate"):
                    self._convert_instruction(row)
                at += 1

    def _convert_loop(self, at: int, end: int) -> int:
        """Convert the loop that starts at index `at`; return the index after the jump that closes the loop."""
        last = self.loops[at].pop()
        for row in self.chain[at:last]:
            if row.name == _PUT and row.arguments and row.arguments[0] not in self.written:
                self._add_operation("empty", (), row.arguments[:1])
        self._begin_nested_block(self.chain[last], last < end)
        self._convert_range(at, last)
        self.draft.operation("jump", self._read_operands(self.chain[last].arguments), ())
        self.draft.loop(self._end_nested_block(), _SEVERAL)
        return last + 1

    def _convert_choice(self, at: int, end: int) -> int:
        """Convert an if-else that starts at index `at`; return the index of the first instruction after both branches.

        The first instruction jumps to the second branch if a condition is false. The first branch ends with a jump past
        the second one.
        """
        row = self.chain[at]
        other = row.destination
        skip = self.chain[other - 1] if at + 1 < other <= end else row
        is_choice = skip.kind == "jump" and self.method.false.issuperset(skip.arguments) and skip is not row
        if not is_choice or not other <= skip.destination <= end:
            raise FormatError(
                f"{row.path}.destination_instruction: must be the start of a loop or of the second branch of a choice, "
                f"got {other}"
            )
        condition = self._read_operands(row.arguments)
        for moved in self.chain[at : skip.destination]:
            if moved.kind == "move":
                self._declare_chosen(moved.arguments[1])
        bodies = []
        for first, behind in ((at + 1, other - 1), (other, skip.destination)):
            self._begin_nested_block(row, is_inside=True)
            self._convert_range(first, behind)
            bodies.append(self._end_nested_block())
        self.draft.branches(condition, bodies)
        return skip.destination

    def _declare_chosen(self, value: int) -> None:
        if self._is_planned(value) and not self.draft.is_declared(_id_of(value)):
            self._declare(value, "chosen")

    def _convert_instruction(self, row: Instruction) -> None:
        """Convert a move, delegate, view or kernel to an operation; instructions of other kinds (free) are ignored."""
        if row.kind == "move":
            self._convert_move(row)
        elif row.kind == "delegate":
            inputs, outputs = self._split_delegate(row)
            self._add_operation(row.name, inputs, outputs)
        elif row.kind == "kernel" and row.name == _VIEW and len(row.arguments) > 1:
            source, result = row.arguments[0], row.arguments[-1]
            if self._is_planned(source) and self._is_planned(result) and self._read_operands((source,)):
                self._declare(result)
                self._note_write(result)
                self.draft.view(row.name, _id_of(source), _id_of(result))
            else:
                self._add_operation(row.name, (source,), (result,))
        elif row.kind == "kernel" and row.name == _PUT:
            self._add_operation(row.name, row.arguments, row.arguments[:1])
        elif row.kind == "kernel" and row.arguments:
            inputs, outputs = _split_kernel(row, self.method)
            scratch = [value for value in self.method.tensors_of(inputs) if self._is_scratch(row, value)]
            self._add_operation(row.name, [value for value in inputs if value not in scratch], outputs, scratch)

    def _is_scratch(self, row: Instruction, value: int) -> bool:
        is_alone = self.uses[value] == 1 and value not in self.written
        has_memory = self._is_planned(value) and not self.method.tensors[value].has_content
        return row.name.startswith(_WITH_SCRATCH) and is_alone and has_memory

    def _add_operation(
        self, name: str, inputs: Iterable[int], outputs: Iterable[int], scratch: Sequence[int] = ()
    ) -> None:
        reads = self._read_operands(tuple(inputs))
        writes = [value for value in self.method.tensors_of(tuple(outputs)) if self._is_planned(value)]
        for value in writes:
            self._declare(value)
            self._note_write(value)
        for value in scratch:
            self._declare(value)
        self.draft.operation(name, reads, dict.fromkeys(map(_id_of, writes)), map(_id_of, scratch))

    def _convert_move(self, row: Instruction) -> None:
        """Convert a move of one value to another; in a branch, the move passes a result of the choice on."""
        source, result = row.arguments
        if not (self._is_planned(source) and self._is_planned(result)):
            self._add_operation("move", (source,), (result,))
            return
        self._read_operands((source,))
        self._declare(result)
        self._note_write(result)
        if self.depth:
            self.draft.hand_out("move", _id_of(source), _id_of(result))
        else:
            self.draft.operation("move", [_id_of(source)], [_id_of(result)])

    def _split_delegate(self, row: Instruction) -> tuple[tuple[int, ...], tuple[int, ...]]:
        tensors = self.method.tensors_of(row.arguments)
        first = len(tensors)
        while first and self._is_unwritten(tensors[first - 1], is_last=first == len(tensors)):
            first -= 1
        return tensors[:first], tensors[first:]

    def _is_unwritten(self, value: int, *, is_last: bool) -> bool:
        if not self._is_planned(value) or value in self.written:
            return not self._is_planned(value) and not self.method.tensors[value].has_content
        return is_last or self._viewed_tensor(value) is None

    def _read_operands(self, values: tuple[int, ...]) -> list[str]:
        """Return the names of the planned or constant tensors among `values`; declare the unwritten ones."""
        names: dict[str, None] = {}
        for value in self.method.tensors_of(values):
            tensor = self.method.tensors[value]
            if tensor.has_content and tensor.place is None:
                self._declare(value, "constant")
            elif tensor.place is None:
                continue
            elif value not in self.written:
                self._declare_unwritten(value)
            names[_id_of(value)] = None
        return list(names)

    def _declare_unwritten(self, value: int) -> None:
        base = None if self.method.tensors[value].has_content else self._viewed_tensor(value)
        if base is None:
            self._declare(value, "persistent")
        else:
            self._declare(value)
            self.draft.view("view", _id_of(base), _id_of(value))
        self._note_write(value)

    def _viewed_tensor(self, value: int) -> int | None:
        """Return the tensor last written at the offset of `value`; None unless both have the same number of bits."""
        tensor = self.method.tensors[value]
        base = self.last_at.get(tensor.place) if tensor.place is not None else None
        if base is None:
            return None
        other = self.method.tensors[base]
        return base if other.elements * other.bits == tensor.elements * tensor.bits else None

    def _note_write(self, value: int) -> None:
        self.written.add(value)
        tensor = self.method.tensors[value]
        # An empty tensor may share its offset with another tensor, so an empty tensor does not count as written there.
        if tensor.place is not None and tensor.elements:
            self.last_at[tensor.place] = value

    def _is_planned(self, value: int) -> bool:
        return value in self.method.tensors and self.method.tensors[value].place is not None

    def _declare(self, value: int, kind: Kind = "plain") -> None:
        if self.draft.is_declared(_id_of(value)):
            return
        tensor = self.method.tensors[value]
        is_state = tensor.has_content and tensor.place is not None
        size = packed_bytes(f"{tensor.path}.sizes", tensor.elements, tensor.bits, self.alignment)
        self.draft.declare(_id_of(value), size, "persistent" if is_state and kind == "plain" else kind)

    def _begin_nested_block(self, row: Instruction, is_inside: bool) -> None:
        """Begin the block of a loop or branch. Raises FormatError if the block leaves its parent or is too deep."""
        self.depth += 1
        if not is_inside or self.depth > _MOST_INSIDE:
            raise FormatError(
                f"{row.path}.destination_instruction: must be inside the enclosing loop or branch, nested at most "
                f"{_MOST_INSIDE} deep, got {row.destination}"
            )
        self.draft.begin_block()

    def _end_nested_block(self) -> list[dict[str, object]]:
        self.depth -= 1
        return self.draft.end_block()


def _split_kernel(row: Instruction, method: Method) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the values that a kernel reads, and the tensors in its last argument, which the kernel writes.

    A caller passes the output buffer directly before the last argument, so these arguments are no inputs. If the
    kernel's name ends with an underscore, it works in place: its result is one of its inputs.
    """
    *arguments, returned = row.arguments
    outputs = method.tensors_of((returned,))
    first = len(arguments)
    if not row.name.endswith("_"):
        while first and len(method.tensors_of(tuple(arguments[first:]))) < len(outputs):
            first -= 1
        if method.tensors_of(tuple(arguments[first:])) != outputs:
            first = len(arguments)
    return tuple(arguments[:first]), outputs


def _id_of(value: int) -> str:
    return f"#{value}"
