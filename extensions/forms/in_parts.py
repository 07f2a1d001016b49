"""Writer of models whose operators are split into parts by slices, pads and concatenations.

It writes an unrolled cascade. The new tables precede the old file, and refer to its weights, options and quantisation.
Split operators do not pad: if a part extends beyond the border, a PAD adds the zero point. Source:
tensorflow/compiler/mlir/lite/schema/schema.fbs. A field's number is its position there.
"""

from collections.abc import Iterable, Sequence

from memplan.extensions.cascade.regions.regions import Span
from memplan.extensions.forms.in_parts_source import BY_PIXEL, PADDED, TfliteSource, TfliteTensors
from memplan.extensions.forms.unrolled import PartStep, UnrolledCascade
from memplan.planner.errors import OperationsError, excerpt
from memplan.runtimes.flatbuffer import Field, NewTable, Numbers, OldReference, Scalar, Table, Tables, prepend_root
from memplan.runtimes.tflite.model import OFFLINE_PLAN, Operator, read_model

# Numbers of operators in TFLite's BuiltinOperator, then numbers of the operators' options in BuiltinOptions
_CONCATENATION, _PAD, _STRIDED_SLICE, _PADV2 = 2, 34, 45, 60
_OPTIONS = {_CONCATENATION: 10, _PAD: 22, _STRIDED_SLICE: 32, _PADV2: 43}
_VALID = 1
_MOST_JOINED = 10
"""The maximum number of inputs of a CONCATENATION in TFLite Micro."""


class TfliteRewriting(TfliteSource):
    """A model of which new versions can be written, each of which runs an unrolled cascade of the model's graph."""

    def write(self, found: UnrolledCascade) -> bytes:
        """Return the file of a model that runs the cascade `found`; its inputs and outputs are the original ones."""
        writer = _Writer(self, found)
        writer.run()
        out = writer.file()
        read_model(out)
        return out


class _Writer:
    """The writer of one model, which adds the tensors and operators of the unrolled cascade `found` to its file."""

    def __init__(self, how: TfliteSource, found: UnrolledCascade) -> None:
        """Index the old file, and assign a tensor of the new file to each value of the cascade."""
        self.how, self.found = how, found
        self.old = how.subgraph
        self.root = Table.root(how.data, "model")
        self.codes = len(list(self.root.tables(1, "operator_codes")))
        self.new_codes: dict[int, int] = {}
        self.tensors = TfliteTensors(how.model)
        self.operators: list[NewTable | OldReference] = []
        self.maker = {t: v for v, operator in enumerate(self.old.operators) for t in operator.outputs}
        self.drawn = {row.source[1] for row in how.graph.ops if len(row.source) == 2 and row.source[0] == 0}
        self.done: set[int] = set()
        self.used = {*self.old.inputs, *self.old.outputs}
        self.options: dict[str, dict[int, Scalar]] = {}
        self.heads: dict[str, dict[int, Scalar | OldReference]] = {}
        self.index = self._value_indices()

    def run(self) -> None:
        """Add the operators for all steps, and the old operators, such as reshapes, that compute outputs."""
        for step in self.found.steps:
            if step.kind == "slice":
                self._add_slice(step)
            elif step.kind == "join":
                self._add_join(step)
            else:
                self._add_operation(step)
        self._add_views(self.old.outputs)

    # These methods find tensors of the old file and their copies in the new file.

    def _tensor_in(self, tensor: int) -> int:
        return self.how.tensor_of(self.found.graph.tensor_origin(tensor))

    def _value_indices(self) -> list[int]:
        """Return the index of the tensor in the new file that stores each value.

        The first value that is a whole tensor keeps the tensor's old index; all other values get new tensors.
        """
        indices = self.found
        index = [-1] * len(indices.values)
        taken: set[int] = set()
        for value in (*indices.inputs, *indices.kept, *range(len(indices.values))):
            own = self._tensor_in(indices.values[value].tensor)
            if index[value] < 0 and indices.is_whole(value) and own not in taken:
                index[value] = own
                taken.add(own)
        for value, part in enumerate(indices.values):
            if index[value] < 0:
                like = self.old.tensors[self._tensor_in(part.tensor)]
                index[value] = self.tensors.add_like(like, self._value_shape(value), f"{like.id}/{value}")
        return index

    def _value_shape(self, value: int) -> tuple[int, ...]:
        """Return the shape of a value, which is part of a tensor. Raises OperationsError unless it has 4 dimensions."""
        part = self.found.values[value]
        own = self.old.tensors[self._tensor_in(part.tensor)]
        if len(own.shape) != 4:
            raise OperationsError(f"tensor {excerpt(own.id)}: must have 4 dimensions to be split, got {own.shape}")
        return own.shape[0], part.rows[1] - part.rows[0], part.columns[1] - part.columns[0], own.shape[3]

    # These methods add operators to the new file.

    def _add_operator(self, code: int, inputs: Sequence[int], output: int, options: NewTable) -> None:
        """Add a new operator with the built-in code `code` between the tensors with these indices."""
        self.used.update((*inputs, output))
        number = self.new_codes.setdefault(code, self.codes + len(self.new_codes))
        self.operators.append(
            NewTable(
                {
                    0: Scalar(number, "I"),
                    1: Numbers(inputs),
                    2: Numbers((output,)),
                    3: Scalar(_OPTIONS[code], "B"),
                    4: options,
                }
            )
        )

    def _add_slice(self, step: PartStep) -> None:
        (value,), (made,) = step.inputs, step.outputs
        whole, part = self.found.values[value], self.found.values[made]
        shape = self._value_shape(value)
        top, left = part.rows[0] - whole.rows[0], part.columns[0] - whole.columns[0]
        begin = (0, top, left, 0)
        end = (shape[0], top + part.rows[1] - part.rows[0], left + part.columns[1] - part.columns[0], shape[3])
        numbers = [self.tensors.add_integers(values, (4,)) for values in (begin, end, (1, 1, 1, 1))]
        self._add_operator(_STRIDED_SLICE, (self.index[value], *numbers), self.index[made], NewTable({}))

    def _add_join(self, step: PartStep) -> None:
        """Add a concatenation of the step's values; more values than TFLite Micro allows are joined in groups first."""
        (made,) = step.outputs
        axis, whole = 1 + step.axis, self._value_shape(made)
        like = self.old.tensors[self._tensor_in(self.found.values[made].tensor)]
        parts = [(self.index[value], self._value_shape(value)[axis]) for value in step.inputs]
        while len(parts) > _MOST_JOINED:
            rest, parts = parts, []
            for k in range(0, len(rest), _MOST_JOINED):
                group = rest[k : k + _MOST_JOINED]
                if len(group) > 1:
                    size = sum(size for _, size in group)
                    shape = (*whole[:axis], size, *whole[axis + 1 :])
                    group = [
                        (
                            self._add_concatenation(
                                group, axis, self.tensors.add_like(like, shape, f"{like.id}/joined")
                            ),
                            size,
                        )
                    ]
                parts += group
        self._add_concatenation(parts, axis, self.index[made])

    def _add_concatenation(self, parts: Sequence[Span], axis: int, output: int) -> int:
        options = NewTable({0: Scalar(axis, "i"), 1: Scalar(0, "b")})
        self._add_operator(_CONCATENATION, [tensor for tensor, _ in parts], output, options)
        return output

    def _add_operation(self, step: PartStep) -> None:
        v = self.how.operator_of(self.found.graph.origin(step.operation))
        operator = self.old.operators[v]
        self._add_views(operator.inputs)
        if all(self.found.is_whole(value) for value in (*step.inputs, *step.outputs)):
            self._add_whole(v, step)
        else:
            self._add_part(operator, step)

    def _replaced_tensors(self, step: PartStep) -> dict[int, int]:
        reads = self.found.graph.operations[step.operation].reads
        tensors = {
            self._tensor_in(read.tensor): self.index[value] for read, value in zip(reads, step.inputs, strict=True)
        }
        return tensors | {self._tensor_in(self.found.values[value].tensor): self.index[value] for value in step.outputs}

    def _add_whole(self, v: int, step: PartStep) -> None:
        """Add operation `v`, which runs on whole tensors: the old operator, or a copy with other tensors."""
        meant, operator = self._replaced_tensors(step), self.old.operators[v]
        assert operator.table is not None
        if all(own == now for own, now in meant.items()):
            self.used.update((*operator.inputs, *operator.outputs))
            self.operators.append(OldReference(operator.table.at))
        else:
            self._repeat_operator(
                operator, [meant.get(t, t) for t in operator.inputs], [meant.get(t, t) for t in operator.outputs]
            )

    def _repeat_operator(
        self, operator: Operator, inputs: Sequence[int], outputs: Sequence[int], options: NewTable | None = None
    ) -> None:
        if operator.path not in self.heads:
            self.heads[operator.path] = _fields_kept(operator)
        own = self.heads[operator.path]
        self.used.update((*inputs, *outputs))
        changed = {1: Numbers(inputs), 2: Numbers(outputs)} | ({} if options is None else {4: options})
        self.operators.append(NewTable({**own, **changed}))

    def _add_part(self, operator: Operator, step: PartStep) -> None:
        """Add the operator that computes one part of its output, after a pad operator if the part needs one."""
        name, row = operator.name, self.found.graph.operations[step.operation]
        meant, made = self._replaced_tensors(step), self.found.values[step.outputs[0]]
        inputs = [meant.get(t, t) for t in operator.inputs]
        if name in BY_PIXEL:
            self._repeat_operator(operator, inputs, [self.index[step.outputs[0]]])
            return
        read = row.reads[0]
        sizes = self.found.graph.tensors[read.tensor].sizes
        reached = [window.unclipped_input_range(*span) for window, span in zip(read.windows, made.spans, strict=True)]
        borders = [(max(0, -first), max(0, end - size)) for (first, end), size in zip(reached, sizes, strict=True)]
        source, output = self.index[step.inputs[0]], self.index[step.outputs[0]]
        if name == "PAD":
            self._add_pad(source, output, borders)
            return
        if any(any(border) for border in borders):
            inputs[0] = self._pad_input(operator, step.inputs[0], source, borders)
        self._repeat_operator(operator, inputs, [output], NewTable(self._valid_options(operator)))

    def _valid_options(self, operator: Operator) -> dict[int, Scalar]:
        if operator.path not in self.options:
            table = operator.table.table(4, "builtin_options") if operator.table is not None else None
            self.options[operator.path] = {0: Scalar(_VALID, "b")} | {
                number: Scalar(default if table is None else table.integer(number, "option", kind, default), kind)
                for number, kind, default in PADDED[operator.name]
            }
        return self.options[operator.path]

    def _pad_input(self, operator: Operator, value: int, source: int, borders: Sequence[Span]) -> int:
        """Add a pad operator before an operator's input; return the index of the padded tensor."""
        if operator.name == "AVERAGE_POOL_2D":
            raise OperationsError(
                f"{operator.path}: must not have windows across the border, where averages have fewer terms"
            )
        like = self.old.tensors[self._tensor_in(self.found.values[value].tensor)]
        n, rows, columns, channels = self._value_shape(value)
        shape = (n, rows + sum(borders[0]), columns + sum(borders[1]), channels)
        out = self.tensors.add_like(like, shape, f"{like.id}/{value}/padded")
        self._add_pad(source, out, borders, self.tensors.add_minimum(like) if operator.name == "MAX_POOL_2D" else None)
        return out

    def _add_pad(self, source: int, out: int, borders: Sequence[Span], filled: int | None = None) -> None:
        """Add the operator that writes tensor `out`: tensor `source` with `borders` (pads before, after) around it.

        `filled` is the index of the tensor with the padding value; by default, the padding is the zero point.
        """
        pads = self.tensors.add_integers((0, 0, *borders[0], *borders[1], 0, 0), (4, 2))
        if filled is None:
            self._add_operator(_PAD, (source, pads), out, NewTable({}))
        else:
            self._add_operator(_PADV2, (source, pads, filled), out, NewTable({}))

    def _add_views(self, tensors: Iterable[int]) -> None:
        """Add the old operators that compute `tensors` but are not operations of the graph, such as reshapes."""
        for tensor in tensors:
            v = self.maker.get(tensor)
            if v is None or v in self.drawn or v in self.done:
                continue
            self.done.add(v)
            operator = self.old.operators[v]
            self._add_views(operator.inputs)
            assert operator.table is not None
            self.used.update((*operator.inputs, *operator.outputs))
            self.operators.append(OldReference(operator.table.at))

    # These methods write the new file.

    def file(self) -> bytes:
        """Return the bytes of the new file, whose first subgraph consists of the added operators."""
        root = self.root
        codes = [OldReference(table.at) for table in root.tables(1, "operator_codes")]
        new = [NewTable({0: Scalar(code, "b"), 2: Scalar(2, "i"), 3: Scalar(code, "i")}) for code in self.new_codes]
        graphs = list(root.tables(2, "subgraphs"))
        subgraphs: list[NewTable | OldReference] = [
            self._new_subgraph(graphs[0]),
            *(OldReference(graph.at) for graph in graphs[1:]),
        ]
        fields: dict[int, Field] = {
            0: Scalar(root.integer(0, "version", "I"), "I"),
            1: Tables([*codes, *new]),
            2: Tables(subgraphs),
            4: Tables(self.tensors.buffers()),
        }
        for number, name in ((3, "description"), (5, "metadata_buffer"), (7, "signature_defs")):
            if (entry_table := root.table(number, name)) is not None:
                fields[number] = OldReference(entry_table.at)
        entries = [entry for entry in root.tables(6, "metadata") if entry.text(0, "name") != OFFLINE_PLAN]
        if entries:
            fields[6] = Tables([OldReference(entry.at) for entry in entries])
        return prepend_root(NewTable(fields), b"TFL3", self.how.data)

    def _new_subgraph(self, old: Table) -> NewTable:
        """Return the new first subgraph, with the old inputs, outputs and name."""
        tensors = self.tensors.tensors([*old.tables(0, "tensors")], self.used)
        fields: dict[int, Field] = {
            0: Tables(tensors),
            1: Numbers(self.old.inputs),
            2: Numbers(self.old.outputs),
            3: Tables(self.operators),
        }
        if (name := old.table(4, "name")) is not None:
            fields[4] = OldReference(name.at)
        return NewTable(fields)


def _fields_kept(operator: Operator) -> dict[int, Scalar | OldReference]:
    """Return the fields that a copy of an operator takes from it: all except inputs and outputs."""
    table = operator.table
    assert table is not None
    fields: dict[int, Scalar | OldReference] = {
        0: Scalar(table.integer(0, "opcode_index", "I"), "I"),
        3: Scalar(table.integer(3, "builtin_options_type", "B"), "B"),
    }
    if (options := table.table(4, "builtin_options")) is not None:
        fields[4] = OldReference(options.at)
    return fields
