"""Reader of XLA programs, in which each instruction of an HLO module's entry computation becomes an operation.

Operations follow the module's schedule, if it has one. Tuples are replaced by their elements, and a bitcast is a view.
The computations of fusions, loops and reductions are parts of the calling instructions and are not examined. In a
module with a schedule, loops and updates of slices change their first operand in place. Instructions with side effects
or control edges keep their order. Source: xla/service/hlo.proto and xla/xla_data.proto.
"""

from collections.abc import Sequence

from memplan.planner.errors import FormatError, OperationsError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, element_count, packed_bytes, refuse_dims
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.rows import MAX_BYTES
from memplan.programs.operations.graph_facts import OperationFacts, TensorFacts, bits_of
from memplan.programs.readers.draft import OperationsDraft, Uses
from memplan.programs.readers.vocabulary import HLO_KINDS, kind_of, types_by_number
from memplan.runtimes.protobuf import ProtobufMessage
from memplan.runtimes.xla.system import is_xla_text

ALIGNMENT = 64
_MODULE = 1
_DTYPES = types_by_number("""
- bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 - - complex64 bfloat16 - complex128
float8_e5m2 float8_e4m3fn int4 uint4
""")
_TUPLE = 13
_EFFECTS = {"rng", "rng-bit-generator", "rng-get-and-update-state", "infeed", "outfeed", "send", "recv", "custom-call"}
_EFFECTS |= {"all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter", "send-done", "recv-done"}
_IN_PLACE = {"while", "dynamic-update-slice"}
Values = tuple[str, ...]


def read_module(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read the entry computation of a binary HloProto. Raises FormatError, and OperationsError for XLA's text files."""
    refuse_dims(options, "XLA's modules")
    if is_xla_text(data):
        raise OperationsError("model: must contain operations, got only lifetimes")
    module = ProtobufMessage.root(data, "hlo_proto").message(_MODULE, "hlo_module")
    if module is None:
        raise FormatError("hlo_proto.hlo_module: is required to read operations")
    results = _Program(module, options, ()).run()
    program = _Program(module, options, results)
    program.run()
    return program.draft.make_program()


class _Program:
    """A converter of the entry computation; `results` names the result buffers, whose views are not aliases."""

    def __init__(self, module: ProtobufMessage, options: ModelOptions, results: Values) -> None:
        """Find the entry computation, its instructions and their order. Raises FormatError if it does not exist."""
        entry = module.integer(6, "entry_computation_id")
        entries = [row for row in module.messages(3, "computations") if row.integer(5, "id") == entry]
        if not entries:
            raise FormatError(f"hlo_module.entry_computation_id: must be the id of a computation, got {entry}")
        self.computation = entries[0]
        self.rows = {row.integer(35, "id"): row for row in self.computation.messages(2, "instructions")}
        before = {number: row.integers(37, "control_predecessor_ids") for number, row in self.rows.items()}
        self.controlled = {one for number, row in before.items() if row for one in (number, *row)}
        self.place = {number: k for k, number in enumerate(self.rows)}
        self.schedule = _instruction_order(module, entry, self.rows)
        self.values: dict[int, Values] = {}
        self.alignment = options.alignment or ALIGNMENT
        root = self.computation.integer(6, "root_id")
        self.is_scheduled = module.message(7, "schedule") is not None
        self.draft = OperationsDraft(module.text(1, "name") or None, results, options, self.alignment)
        self.root = root
        self.uses = Uses()

    def run(self) -> Values:
        """Convert all instructions, and return the names of the buffers of the program's results."""
        for number in self.schedule:
            self._add_instruction(number, self.rows[number])
        if self.root not in self.values:
            raise FormatError(f"{self.computation.path}.root_id: must be the id of an instruction, got {self.root}")
        return tuple(dict.fromkeys(name for name in self.values[self.root] if not self.draft.is_constant(name)))

    def _add_instruction(self, number: int, row: ProtobufMessage) -> None:
        """Convert one instruction, and record which buffers its result consists of."""
        opcode = row.text(2, "opcode")
        operands = [self._operand_values(row, one) for one in row.integers(36, "operand_ids")]
        self.uses.add(sum(map(len, operands)))
        flat = list(dict.fromkeys(name for names in operands for name in names))
        name = row.text(1, "name") or f"#{number}"
        facts = OperationFacts(name, kind_of(opcode, HLO_KINDS), {}, (self.place[number],))
        has_effects = opcode in _EFFECTS or row.integer(35, "id") in self.controlled
        if opcode == "tuple":
            self.values[number] = tuple(one for names in operands for one in names)
        elif opcode == "get-tuple-element":
            index = row.integer(13, "tuple_index")
            held = operands[0] if operands else ()
            if not 0 <= index < len(held):
                raise FormatError(f"{row.path}.tuple_index: must be below {len(held)}, got {index}")
            self.values[number] = (held[index],)
        elif opcode in _IN_PLACE and operands and self._can_be_in_place(row, operands[0]):
            self.values[number] = operands[0]
            with self.draft.drawing(facts, has_effects=has_effects):
                self.draft.operation(opcode, flat, dict.fromkeys(operands[0]))
        else:
            kind = {"parameter": "param", "constant": "constant"}.get(opcode, "plain")
            made = self._declare_result(name, row, kind)
            self.values[number] = made
            if kind == "plain":
                with self.draft.drawing(facts, has_effects=has_effects):
                    if opcode == "bitcast" and len(flat) == len(made) == 1 and not self.draft.is_constant(flat[0]):
                        self.draft.view(opcode, flat[0], made[0])
                    else:
                        self.draft.operation(opcode, flat, made)

    def _can_be_in_place(self, row: ProtobufMessage, held: Values) -> bool:
        is_writable = self.is_scheduled and not any(map(self.draft.is_constant, held))
        return is_writable and len(self._array_shapes(row)) == len(held)

    def _operand_values(self, row: ProtobufMessage, number: int) -> Values:
        """Return the values of the earlier instruction `number`. Raises FormatError if it is not an earlier one."""
        if number not in self.values:
            raise FormatError(f"{row.path}.operand_ids: must be earlier instructions, got {number}")
        return self.values[number]

    def _declare_result(self, name: str, row: ProtobufMessage, kind: str) -> Values:
        """Declare one buffer for each array in an instruction's result, and return the buffers' names."""
        leaves = self._array_shapes(row)
        names = (name,) if len(leaves) == 1 else tuple(f"{name}:{k}" for k in range(len(leaves)))
        for one, leaf in zip(names, leaves, strict=True):
            if self.draft.is_declared(one):
                raise FormatError(f"{row.path}.name: must be unique, got {excerpt(name)} again")
            dims, dtype = leaf.integers(3, "dimensions"), _DTYPES.get(leaf.integer(2, "element_type"))
            if any(not 0 <= size <= MAX_BYTES for size in dims):
                raise FormatError(f"{leaf.path}.dimensions: must be at least 0, got {excerpt(list(dims))}")
            bits = (bits_of(dtype) or 0) if dtype else 0
            size = packed_bytes(leaf.path, element_count(dims), bits, self.alignment)
            self.draft.declare(one, size, "param" if kind == "param" else "constant" if kind == "constant" else "plain")
            self.draft.describe(one, TensorFacts(name=one, shape=dims, dtype=dtype))
        return names

    def _array_shapes(self, row: ProtobufMessage) -> list[ProtobufMessage]:
        """Return the shapes of the arrays in an instruction's result; nested tuples are replaced by their elements."""
        shape = row.message(3, "shape")
        stack = [] if shape is None else [shape]
        leaves: list[ProtobufMessage] = []
        while stack:
            one = stack.pop()
            if one.integer(2, "element_type") == _TUPLE:
                stack += reversed(list(one.messages(4, "tuple_shapes")))
            else:
                leaves.append(one)
        return leaves


def _instruction_order(module: ProtobufMessage, entry: int, rows: dict[int, ProtobufMessage]) -> Sequence[int]:
    schedule = module.message(7, "schedule")
    for sequence in schedule.messages(1, "sequences") if schedule is not None else ():
        if sequence.integer(1, "key") == entry and (value := sequence.message(2, "value")) is not None:
            ids = value.integers(1, "instruction_ids")
            if sorted(ids) == sorted(rows):
                return ids
    return list(rows)
