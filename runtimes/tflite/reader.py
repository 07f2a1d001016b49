"""Reader of TensorFlow Lite models: each tensor is a buffer, whose lifetime follows from the order of operators.

As in TFLite Micro, each subgraph has its own tensors. An operator that runs a subgraph copies its inputs to the inputs
of the subgraph, and the results back. A tensor has one offset, however often its subgraph runs. Files do not list the
scratch buffers of kernels: for known kernels they are computed from types and shapes, and become temporaries of the
operator; unknown scratch is reported. Buffers are aligned to 16 bytes, as in TFLite Micro's arena.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from memplan.planner.errors import FormatError, OptionError, excerpt
from memplan.planner.foreign.arena import scratch_flags
from memplan.planner.foreign.imported import ImportedProblem, constants_finding, element_count, packed_bytes
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.finding import MAX_LISTED, REFUSED, Finding
from memplan.programs.operations.graph_facts import OperationFacts
from memplan.programs.readers.draft import Kind, OperationsDraft
from memplan.programs.symbols.space import SymbolRange
from memplan.runtimes.tflite import ethos_u
from memplan.runtimes.tflite.facts import has_effects, operator_facts, tensor_facts
from memplan.runtimes.tflite.model import BITS, UNSIZED, Model, Operator, Subgraph, TfliteTensor, read_model
from memplan.runtimes.tflite.open_shapes import open_dimensions, set_sizes
from memplan.runtimes.tflite.tflm_arena import (
    ALIGNMENT,
    arena_head,
    model_for_options,
    rounded_bytes,
    scratch_of,
    scratch_of_model,
)

_VIEWS = {"RESHAPE", "SQUEEZE", "EXPAND_DIMS"}
_UNKNOWN = {"STABLEHLO_CASE", "DELEGATE"}
_LOOPS = {"WHILE", "STABLEHLO_WHILE"}
_MOST_DRAWN = 200_000
"""The maximum number of operator runs; an operator of a subgraph counts once for each run of the subgraph."""
_MOST_RUNNING = 64
"""The maximum nesting depth of subgraphs."""


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Return the problem of a model. Raises FormatError for a broken file, and OptionError for wrong options."""
    model = model_for_options(read_model(data), options)
    if options.dims:
        model = set_sizes(model, options.sizes)
    names = {operator.name for graph in model.subgraphs for operator in graph.operators}
    if other := next((name for name in options.scratch if name not in model.scratch_names), None):
        some = ", ".join(sorted(names)[:MAX_LISTED]) or "none"
        one = "; or one operator, by its output or number"
        raise OptionError(f"scratch: must name operators of the model ({some}{one}), got {excerpt(other)}")
    program = _Program(model, options)
    program.run()
    own_peak, own_offsets = program.offline_plan()
    computing = "LiteRT makes them float32 or dense before the first run"
    warnings = constants_finding(
        program.widened.values(), computing, "a runtime that executes DEQUANTIZE or DENSIFY does so then"
    )
    unknown = () if options.dims else _unknown_scratch(model)
    imported = program.draft.make_program([*_open_findings(model), *warnings, *unknown], own_peak, own_offsets)
    # TFLite Micro's plan has longer lifetimes for subgraph inputs and outputs, so compute that plan's peak separately.
    if len(model.subgraphs) > 1 and "VAR_HANDLE" not in names and not options.dims and options.alignment is None:
        imported = replace(imported, planner_peak=lambda: _runtime_peak(model))
    return ethos_u.add_regions(model, imported)


def symbols(data: bytes) -> dict[str, SymbolRange]:
    """Return a symbol with the values 1, 2, ... for each open input dimension; raises FormatError for other files."""
    return dict.fromkeys(open_dimensions(read_model(data)), SymbolRange())


def _unknown_scratch(model: Model) -> Iterator[Finding]:
    """Yield a finding about operators of unknown scratch, and for a named target one about those that it refuses."""
    unknown = scratch_of_model(model)[1]
    refused = [name for name in unknown if " refuses" in name]
    if scratch := [name for name in unknown if name not in refused]:
        what = f"the scratch of the kernels of {', '.join(scratch[:MAX_LISTED])} is not known"
        yield Finding(
            "unknown-scratch",
            f"{what}: the arena may become larger than planned here; --scratch states the missing scratch",
        )
    if refused and model.target.is_named:
        way = f"convert the model without these, or, for kernels of your own, give {scratch_flags(refused, 'SIZE')}"
        yield Finding(REFUSED, f"must have operators that TFLite Micro runs, got {', '.join(refused)}: {way}")


def _runtime_peak(model: Model) -> int:
    return arena_head(model).size + sum(rounded_bytes(tensor) for tensor in model.tensors if tensor.is_variable)


class _Program:
    """The conversion of a model's operators to a draft of operations; each run of a subgraph is inlined."""

    def __init__(self, model: Model, options: ModelOptions) -> None:
        """Start an empty draft, whose results are the outputs of the first subgraph."""
        self.model = model
        self.options, self.alignment = options, options.alignment or ALIGNMENT
        main = model.subgraphs[0]
        self.given_back = {_result_name(main.tensors[index]): main.tensors[index] for index in main.outputs}
        # The rules of TFLite Micro's kernels add the scratch, so the draft must not add scratch from the options.
        counted = options.model_copy(update={"scratch": {}})
        self.draft = OperationsDraft(None, self.given_back, counted, self.alignment)
        self.running: list[int] = []
        self.facts: dict[tuple[int, int], OperationFacts] = {}
        self.n_drawn = 0
        self.widened: dict[str, int] = {}
        self.scratch: dict[str, str] = {}

    def run(self) -> None:
        """Add the first subgraph to the draft: its inputs, its operators, and copies for constant outputs."""
        main = self.model.subgraphs[0]
        for index in dict.fromkeys(main.inputs):
            tensor = main.tensors[index]
            if tensor.is_constant:
                raise FormatError(f"{main.path}.inputs: must not be constants, got {excerpt(tensor.id)}")
            self._declare(tensor, "param")
        self._convert_subgraph(0, main.inputs)
        for name, tensor in self.given_back.items():
            if name != tensor.id:
                self.draft.declare(name, self._tensor_bytes(tensor))
                self.draft.operation("copy", [tensor.id], [name])

    def offline_plan(self) -> tuple[int | None, dict[str, int] | None]:
        """Return the peak and the offsets of the plan in the file; (None, None) if it lacks a buffer's offset.

        Files have no offsets for scratch buffers, so these are placed around the plan as TFLite Micro does.
        """
        offsets = self.model.offline_offsets
        if offsets is None:
            return None, None
        places, peak = dict[str, int](), 0
        for tensor, offset in zip(self.model.tensors, offsets, strict=True):
            if self.draft.is_declared(tensor.id) and not self.draft.is_constant(tensor.id):
                if offset < 0:
                    return None, None
                places[tensor.id], peak = offset, max(peak, offset + self._tensor_bytes(tensor))
        if self.scratch:
            head = arena_head(self.model, offsets)
            places |= {name: head.places[each] for name, each in self.scratch.items()}
            peak = max(peak, head.size)
        return peak, places

    def _convert_subgraph(self, index: int, given: Iterable[int]) -> None:
        """Convert the operators of a subgraph, whose tensors `given` are already written."""
        if index in self.running or len(self.running) >= _MOST_RUNNING:
            cycle = " -> ".join(str(k) for k in (*self.running, index)[-8:])
            raise FormatError(
                f"model.subgraphs[{index}]: must not run itself, nor be nested over {_MOST_RUNNING} deep, got {cycle}"
            )
        self.running.append(index)
        subgraph = self.model.subgraphs[index]
        written = set(given)
        for k, operator in enumerate(subgraph.operators):
            self._count_run(operator.path)
            if operator.name == ethos_u.OPERATOR:
                self._declare_ethos_u_scratch(subgraph, operator, written)
            scratch = self._declare_scratch(index, k, operator)
            if subgraph.widened_tensors.issuperset(operator.outputs) and operator.outputs and not scratch:
                continue
            self._declare_operands(subgraph, operator.inputs, written, operator.path)
            for output in operator.outputs:
                self._declare_output(subgraph, output, written, operator)
            facts = self.facts.get((index, k))
            # A subgraph may run several times, so read the facts of its operators only once.
            if facts is None:
                facts = self.facts[index, k] = operator_facts(subgraph, operator, (index, k), self._content)
            with self.draft.drawing(facts, has_effects=has_effects(subgraph, operator)):
                self._convert_operator(subgraph, operator, scratch)
        self._declare_operands(subgraph, subgraph.outputs, written, subgraph.path)
        self.running.pop()

    def _declare_ethos_u_scratch(self, subgraph: Subgraph, operator: Operator, written: set[int]) -> None:
        """Add an operation that writes an Ethos-U operator's working tensors, which have no other writer."""
        arenas = []
        for index in operator.inputs:
            tensor = subgraph.tensors[index]
            if index >= 0 and index not in written and not tensor.is_constant and not tensor.is_variable:
                self._declare(tensor)
                written.add(index)
                arenas.append(tensor.id)
        if arenas:
            self.draft.operation(ethos_u.OPERATOR, [], arenas)

    def _declare_scratch(self, index: int, k: int, operator: Operator) -> list[str]:
        """Declare the scratch buffers of an operator's kernel, and return their names."""
        # At other sizes than the file's, runtimes use other kernels than TFLite Micro, so the scratch is unknown.
        is_known = not self.options.dims or self.model.stated_scratch(index, k) is not None
        rows = scratch_of(self.model, index, k) if is_known else None
        if rows and operator.subgraphs:
            raise OptionError(f"scratch: must not name an operator that runs subgraphs, got {excerpt(operator.name)}")
        names = []
        for row in (row for row in rows or () if row.size):
            # Scratch keeps nothing between two runs of a subgraph, so each run gets a separate buffer.
            name = row.id if row.id not in self.scratch else f"{row.id}/again {len(self.scratch)}"
            self.draft.declare(name, packed_bytes(f"{operator.path}: scratch", row.size, 8, self.alignment))
            self.scratch[name] = row.id
            names.append(name)
        return names

    def _convert_operator(self, subgraph: Subgraph, operator: Operator, scratch: Sequence[str]) -> None:
        """Convert an operator: a view, a control-flow operator with its subgraphs, or an operation."""
        inputs = [subgraph.tensors[index].id for index in operator.inputs if index >= 0]
        outputs = [subgraph.tensors[index].id for index in operator.outputs]
        name = operator.name
        if name in _UNKNOWN:
            raise FormatError(f"{operator.path}: must not be {name}, because memplan does not know what it runs")
        if name in _VIEWS and inputs and len(outputs) == 1 and not scratch:
            self.draft.view(name, inputs[0], outputs[0], inputs[1:])
        elif name == "IF":
            self._convert_if(operator, inputs, outputs)
        elif name in _LOOPS:
            self._convert_while(operator, inputs, outputs)
        # LiteRT runs a composite like a call: it runs the subgraph of the composite's decomposition.
        elif name in ("CALL", "STABLEHLO_COMPOSITE"):
            self._convert_run(operator, operator.subgraphs[0], inputs, outputs)
        elif name == "CALL_ONCE":
            self.draft.begin_block()
            self._convert_run(operator, operator.subgraphs[0], [], [])
            self.draft.branches((), [self.draft.end_block(), []])
        else:
            self.draft.operation(name, inputs, outputs, scratch)

    def _convert_if(self, operator: Operator, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        if not inputs:
            raise FormatError(f"{operator.path}.inputs: must begin with the condition, got none")
        bodies = []
        for index in operator.subgraphs:
            self.draft.begin_block()
            self._convert_run(operator, index, inputs[1:], outputs)
            bodies.append(self.draft.end_block())
        self.draft.branches(inputs[:1], bodies)

    def _convert_while(self, operator: Operator, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Convert a WHILE, whose state is stored in its outputs and copied to the condition and the body."""
        if len(inputs) != len(outputs):
            raise FormatError(
                f"{operator.path}.inputs: must have one input for each output ({len(outputs)}), got {len(inputs)}"
            )
        condition, body = operator.subgraphs
        for source, result in zip(inputs, outputs, strict=True):
            self.draft.operation("copy", [source], [result])
        self.draft.begin_block()
        self._convert_run(operator, condition, outputs, None)
        test = self.model.subgraphs[condition]
        self.draft.operation("WHILE", [test.tensors[k].id for k in test.outputs], [])
        # A loop may end after its condition, so only the state, which stays alive in the whole loop, is used later.
        self._convert_run(operator, body, outputs, outputs)
        self.draft.loop(self.draft.end_block(), None)

    def _convert_run(
        self, operator: Operator, index: int, inputs: Sequence[str], outputs: Sequence[str] | None
    ) -> None:
        """Convert one run of a subgraph: copies to its inputs, its operators, and copies from its outputs."""
        subgraph = self.model.subgraphs[index]
        for field, inside, outside in (
            ("inputs", subgraph.inputs, inputs),
            ("outputs", subgraph.outputs, subgraph.outputs if outputs is None else outputs),
        ):
            if len(inside) != len(outside):
                raise FormatError(
                    f"{operator.path}.{field}: must have as many entries as {subgraph.path}.{field} ({len(inside)}), "
                    f"got {len(outside)}"
                )
        for k, name in zip(subgraph.inputs, inputs, strict=True):
            self._count_run(operator.path)
            if subgraph.tensors[k].is_constant:
                raise FormatError(
                    f"{subgraph.path}.inputs: must not be constants, got {excerpt(subgraph.tensors[k].id)}"
                )
            self._declare(subgraph.tensors[k])
            self.draft.operation("copy", [name], [subgraph.tensors[k].id])
        self._convert_subgraph(index, subgraph.inputs)
        for k, name in zip(subgraph.outputs, outputs or (), strict=bool(outputs)):
            self._count_run(operator.path)
            self.draft.operation("copy", [subgraph.tensors[k].id], [name])

    def _declare_operands(self, subgraph: Subgraph, indices: Sequence[int], written: set[int], path: str) -> None:
        """Declare constant and variable inputs of an operator. Raises FormatError for other unwritten inputs."""
        for index in indices:
            if index < 0 or index in written:
                continue
            tensor = subgraph.tensors[index]
            is_constant = tensor.is_constant or index in subgraph.widened_tensors
            if not (is_constant or tensor.is_variable or 0 in tensor.shape):
                raise FormatError(f"{path}: must read only values that are already written, got {excerpt(tensor.id)}")
            self._declare(tensor, "constant" if is_constant else None)
            if index in subgraph.widened_tensors:
                self.widened[tensor.id] = self._tensor_bytes(tensor)

    def _declare_output(self, subgraph: Subgraph, index: int, written: set[int], operator: Operator) -> None:
        tensor = subgraph.tensors[index]
        if index in written or tensor.is_constant:
            raise FormatError(
                f"{operator.path}.outputs: must be neither written before nor constant, got {excerpt(tensor.id)}"
            )
        self._declare(tensor, "carried" if operator.name in _LOOPS and not tensor.is_variable else None)
        written.add(index)

    def _declare(self, tensor: TfliteTensor, kind: Kind | None = None) -> None:
        if self.draft.is_declared(tensor.id):
            return
        self.draft.describe(tensor.id, tensor_facts(tensor))
        self.draft.declare(
            tensor.id, self._tensor_bytes(tensor), kind or ("persistent" if tensor.is_variable else "plain")
        )

    def _content(self, tensor: TfliteTensor) -> bytes:
        return self.model.buffers[tensor.buffer].content(0, "data")

    def _tensor_bytes(self, tensor: TfliteTensor) -> int:
        """Return the aligned bytes of a tensor. Raises FormatError for a type without a known size."""
        bits = BITS.get(tensor.type)
        if bits is None:
            what = UNSIZED.get(tensor.type, f"type {tensor.type}")
            raise FormatError(f"{tensor.path}.type: must have a size known before the run, got {what}")
        return packed_bytes(f"{tensor.path}.shape", element_count(tensor.shape), bits, self.alignment)

    def _count_run(self, path: str) -> None:
        """Count a run of an operator. Raises FormatError at too many runs, including those in subgraphs."""
        self.n_drawn += 1
        if self.n_drawn > _MOST_DRAWN:
            raise FormatError(
                f"{path}: must be one of at most {_MOST_DRAWN} runs of operators, including runs in subgraphs"
            )


def _result_name(tensor: TfliteTensor) -> str:
    return f"#copy of {tensor.id}" if tensor.is_constant else tensor.id


def _open_findings(model: Model) -> Iterator[Finding]:
    """Yield a finding for each input with an open dimension.

    Raises FormatError if inputs have no open dimension but other tensors have one.
    """
    main = model.subgraphs[0]
    inputs = [main.tensors[index] for index in dict.fromkeys(main.inputs) if main.tensors[index].open_dims]
    for tensor in inputs[:MAX_LISTED]:
        k = tensor.open_dims[0]
        size = tensor.shape[k] if k < len(tensor.shape) else "nothing"
        message = (
            f"input {excerpt(tensor.id)}: dimension {k} is open in its signature; planned for {size}, as its shape says"
        )
        yield Finding("open-dimension", message, (f"main/{tensor.id}",))
    for tensor in model.tensors if not inputs else ():
        if tensor.open_dims and not tensor.is_constant:
            raise FormatError(
                f"{tensor.path}.shape_signature[{tensor.open_dims[0]}]: must be known before the program runs, for "
                f"{excerpt(tensor.id)}, got -1"
            )
