"""The head of TFLite Micro's arena, where the runtime's algorithm places tensors and the scratch of kernels.

Files do not list scratch buffers. The needs of reference kernels follow from types and shapes; those of other kernels,
and of models with compressed weights, are unknown. Sizes are rounded up to 16 bytes. Variables without an offset in the
plan, and all persistent data, are in the arena's tail. Source: tensorflow/tflite-micro 90b983c2b,
tensorflow/lite/micro/micro_allocation_info.cc, memory_planner/greedy_memory_planner.cc, kernels/*.cc,
signal/micro/kernels/rfft.cc.
"""

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memplan.planner.foreign.imported import element_count
from memplan.planner.foreign.model_options import ModelOptions
from memplan.runtimes.tflite.model import BITS, Model, TfliteTensor
from memplan.runtimes.tflite.tflm_kernels import is_known, refusal, tensor_bytes
from memplan.runtimes.tflite.tflm_targets import operators_with, target_of
from memplan.runtimes.tflite.tflm_vendors import has_vendor_kernel, vendor_scratch

# TFLite Micro calls this alignment in bytes MicroArenaBufferAlignment.
ALIGNMENT = 16
KERNELS = "the reference kernels of TFLite Micro 90b983c2b"
# Numbers of element types in TensorType of TFLite's schema
_FLOAT32, _INT16, _INT8, _INT4 = 0, 7, 9, 17
_COMPRESSED = "compressed weights"


@dataclass(frozen=True)
class Scratch:
    """A scratch buffer of `size` bytes: buffer `number` of an operator's kernel."""

    subgraph: int
    operator: int
    number: int
    size: int

    @property
    def id(self) -> str:
        """The buffer's id in the problem, which differs from all ids of tensors."""
        return f"#scratch/{self.subgraph}/{self.operator}/{self.number}"


@dataclass(frozen=True)
class ArenaHead:
    """The head of an arena: its size in bytes, and the offset of each scratch buffer by id.

    `unknown` has the names of operators whose kernels need an unknown amount of scratch.
    """

    size: int
    places: Mapping[str, int]
    unknown: tuple[str, ...]


@dataclass
class _Request:
    """A request to the runtime's planner for a buffer of `size` bytes (rounded), with a fixed offset or None.

    `first` and `last` are the times of its first and last use.
    """

    size: int
    offset: int | None = None
    first: int = -1
    last: int = -1

    def use(self, time: int) -> None:
        """Record a use of the buffer at `time`, which is not before its earlier uses."""
        self.first = time if self.first < 0 else self.first
        self.last = time


def model_for_options(model: Model, options: ModelOptions | None) -> Model:
    """Return a model with the scratch, kernels and processor in the options; raises OptionError for unknown ones."""
    if options is None:
        return model
    return replace(model, scratch=options.scratch, target=target_of(options.target, options.kernels))


def arena_head(model: Model, offsets: Sequence[int] | None = None) -> ArenaHead:
    """Return the head of a model's arena; `offsets` has the planned offset of each tensor (-1: none).

    Takes O(n^2) time for n buffers, as TFLite Micro does.
    """
    arena = _ArenaRequests(model, offsets)
    arena.run(0)
    requests = [request for requests in arena.tensors for request in requests if request is not None]
    used = {name: request for rows in arena.scratch.values() for name, request in rows if request.first >= 0}
    head = _plan_requests([*requests, *used.values()])
    ends = [head[id(request)] + request.size for request in (*requests, *used.values())]
    places = {name: head[id(request)] for name, request in used.items()}
    return ArenaHead(max(ends, default=0), places, scratch_of_model(model)[1])


def scratch_of_model(model: Model) -> tuple[tuple[Scratch, ...], tuple[str, ...]]:
    """Return the scratch buffers of all operators, and the names of operators with unknown scratch."""
    scratch: list[Scratch] = []
    unknown = [_COMPRESSED] if "COMPRESSION_METADATA" in model.metadata else []
    for i, graph in enumerate(model.subgraphs):
        for k, operator in enumerate(graph.operators):
            buffers = scratch_of(model, i, k)
            is_stated = model.stated_scratch(i, k) is not None
            if not (operator.is_custom or is_known(operator, model.target) or is_stated):
                unknown.append(f"{operator.name} (for which TFLite Micro has no kernel)")
            elif buffers is None:
                unknown.append(operator.name)
            # A kernel whose scratch is stated is the user's own, so its limits are unknown.
            if not is_stated and (refused := refusal(graph, operator)):
                unknown.append(f"{operator.name} (of {refused})")
            scratch += buffers or ()
    return tuple(scratch), tuple(dict.fromkeys(unknown))


@dataclass
class _ArenaRequests:
    """All buffers that a model requests from the planner, with the times of use that TFLite Micro counts."""

    model: Model
    offsets: Sequence[int] | None
    tensors: list[list[_Request | None]] = field(init=False)
    scratch: dict[tuple[int, int], list[tuple[str, _Request]]] = field(default_factory=dict)
    time: int = 0

    def __post_init__(self) -> None:
        """Create the requests for tensors and scratch; a handle of a variable needs no bytes."""
        places = iter(self.offsets or [-1] * len(self.model.tensors))
        self.tensors = [
            [_tensor_request(tensor, next(places)) for tensor in graph.tensors] for graph in self.model.subgraphs
        ]
        for graph, requests in zip(self.model.subgraphs, self.tensors, strict=True):
            for operator in graph.operators:
                for index in operator.outputs if operator.name == "VAR_HANDLE" else ():
                    # A variable's handle stores a number, not data, so it needs no bytes in the arena.
                    requests[index] = None
        # The planner sees scratch in the order in which kernels request it, so add the requests in this order.
        for each in scratch_of_model(self.model)[0]:
            rows = self.scratch.setdefault((each.subgraph, each.operator), [])
            rows.append((each.id, _Request(round_up(each.size))))

    def run(self, index: int) -> None:
        """Record the times at which a subgraph, and each subgraph that it runs, uses the buffers."""
        graph, requests = self.model.subgraphs[index], self.tensors[index]
        _extend_uses(requests, graph.inputs, self.time)
        for k, operator in enumerate(graph.operators):
            self.time += 1
            began = self.time
            _extend_uses(requests, operator.outputs, self.time)
            for inside in operator.subgraphs:
                self.time += 1
                self.run(inside)
            _extend_uses(requests, (*operator.inputs, *operator.outputs), self.time)
            for _, request in self.scratch.get((index, k), ()):
                request.use(began)
                request.use(self.time)
        _extend_uses(requests, graph.outputs, self.time)


def _extend_uses(requests: Sequence[_Request | None], indices: Sequence[int], time: int) -> None:
    for index in indices:
        request = requests[index] if index >= 0 else None
        if request is not None:
            request.use(time)


def _tensor_request(tensor: TfliteTensor, offset: int) -> _Request | None:
    """Return the request for a tensor's bytes, or None for a tensor that the planner does not place."""
    size = tensor_bytes(tensor)
    # Constants are in flash; variables are in the tail unless the file's plan has an offset for the variable.
    if tensor.is_constant or size == 0 or (tensor.is_variable and offset < 0):
        return None
    return _Request(round_up(size), None if offset < 0 else offset)


def rounded_bytes(tensor: TfliteTensor) -> int:
    """Return the bytes of a tensor, rounded up to the arena's alignment."""
    return round_up(tensor_bytes(tensor))


def round_up(size: int) -> int:
    """Return a size rounded up to the arena's alignment of 16 bytes."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def _plan_requests(requests: Sequence[_Request]) -> dict[int, int]:
    """Place the requested buffers; return the offset of each request by the identity of the request.

    Requests with a fixed offset come first, then the others, largest first, each in the lowest gap. Takes O(n^2) time,
    as the original does.
    """
    # As in TFLite Micro, tensors with an offset in the file are placed first, and the others around them.
    fixed = [request for request in requests if request.offset is not None]
    others = sorted((request for request in reversed(requests) if request.offset is None), key=lambda each: -each.size)
    placed: list[tuple[int, int, _Request]] = []
    for count, request in enumerate([*fixed, *others]):
        offset = request.offset
        if offset is None:
            offset = 0
            for start, _, other in placed:
                if other.first > request.last or request.first > other.last:
                    continue
                if start - offset >= request.size:
                    break
                offset = max(offset, start + other.size)
        insort(placed, (offset, count, request), key=lambda entry: entry[:2])
    return {id(request): offset for offset, _, request in placed}


def scratch_of(model: Model, subgraph: int, operator: int) -> tuple[Scratch, ...] | None:
    """Return the scratch buffers of an operator's kernel; None if they are unknown.

    The reference kernel is assumed unless the user states the scratch or another set of kernels. A buffer of 0 bytes
    takes only a row of the planner's table.
    """
    sizes = _scratch_sizes(model, subgraph, operator)
    return None if sizes is None else tuple(Scratch(subgraph, operator, j, size) for j, size in enumerate(sizes))


def _scratch_sizes(model: Model, subgraph: int, index: int) -> tuple[int, ...] | None:
    """Return the bytes of each scratch buffer of an operator's kernel; None if unknown."""
    graph = model.subgraphs[subgraph]
    operator = graph.operators[index]
    if (said := model.stated_scratch(subgraph, index)) is not None:
        return (said,)
    if has_vendor_kernel(graph, operator, model.target):
        return vendor_scratch(graph, operator, model.target)
    if operator.name == "ADD_N":
        return (model.target.pointer * len(operator.inputs),)
    rule = _RULES.get(operator.name)
    if rule is None:
        return () if operator.name in operators_with("scratch", "none") or is_known(operator, model.target) else None
    inputs = [graph.tensors[index] if index >= 0 else None for index in operator.inputs]
    outputs = [graph.tensors[index] for index in operator.outputs]
    try:
        return rule(inputs, outputs)
    # An operator with fewer inputs or dimensions than its kernel requires raises these errors: its scratch is unknown.
    except (IndexError, AttributeError):
        return None


_Inputs = Sequence[TfliteTensor | None]
_Rule = Callable[[_Inputs, Sequence[TfliteTensor]], tuple[int, ...]]


def _tensor_at(inputs: _Inputs, index: int) -> TfliteTensor:
    """Return input number `index` of an operator; raises IndexError if the operator omits it."""
    tensor = inputs[index]
    if tensor is None:
        raise IndexError(index)
    return tensor


def _unpacked_filter_scratch(inputs: _Inputs, outputs: Sequence[TfliteTensor]) -> tuple[int, ...]:
    weights = _tensor_at(inputs, 1)
    return (element_count(weights.shape),) if weights.type == _INT4 else ()


def _transposed_convolution_scratch(inputs: _Inputs, outputs: Sequence[TfliteTensor]) -> tuple[int, ...]:
    kind, count = _tensor_at(inputs, 2).type, element_count(outputs[0].shape)
    if kind == _INT8:
        return (4 * count,)
    if kind != _INT16:
        return ()
    bias = inputs[3] if len(inputs) > 3 else None
    return (8 * count, 8 * element_count(bias.shape)) if bias is not None and bias.type == _INT16 else (8 * count,)


def _svdf_scratch(inputs: _Inputs, outputs: Sequence[TfliteTensor]) -> tuple[int, ...]:
    batch, filters = _tensor_at(inputs, 0).shape[0], _tensor_at(inputs, 1).shape[0]
    sums = 4 * batch * filters
    return (sums,) if _tensor_at(inputs, 0).type == _FLOAT32 else (sums, 4 * element_count(outputs[0].shape))


def _lstm_scratch(inputs: _Inputs, outputs: Sequence[TfliteTensor]) -> tuple[int, ...]:
    state, cell = _tensor_at(inputs, 18), _tensor_at(inputs, 19)
    return (state.shape[0] * state.shape[1] * BITS[cell.type] // 8,) * 4


def _sum_scratch(inputs: _Inputs, outputs: Sequence[TfliteTensor]) -> tuple[int, ...]:
    is_whole = _tensor_at(inputs, 0).type in (_INT8, _INT16)
    return ((4 * element_count(outputs[0].shape),) if is_whole else ()) + _reduction_scratch(inputs, outputs)


def _reduction_scratch(inputs: _Inputs, outputs: Sequence[TfliteTensor]) -> tuple[int, ...]:
    return (4 * len(_tensor_at(inputs, 0).shape), 4 * element_count(_tensor_at(inputs, 1).shape))


def _mirror_pad_scratch(inputs: _Inputs, outputs: Sequence[TfliteTensor]) -> tuple[int, ...]:
    return (4 * len(_tensor_at(inputs, 0).shape),) * 2


def _fourier_scratch(inputs: _Inputs, outputs: Sequence[TfliteTensor]) -> tuple[int, ...]:
    """Return the scratch of a real Fourier transform: as many bytes as its n inputs.

    The outputs are n / 2 + 1 complex numbers, from which n follows.
    """
    return ((outputs[0].shape[-1] - 2) * BITS[_tensor_at(inputs, 0).type] // 8,)


_RULES: Mapping[str, _Rule] = {
    "CONV_2D": _unpacked_filter_scratch,
    "DEPTHWISE_CONV_2D": _unpacked_filter_scratch,
    "FULLY_CONNECTED": _unpacked_filter_scratch,
    "TRANSPOSE_CONV": _transposed_convolution_scratch,
    "SVDF": _svdf_scratch,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm_scratch,
    "MEAN": _sum_scratch,
    "SUM": _sum_scratch,
    "REDUCE_MAX": _reduction_scratch,
    "REDUCE_MIN": _reduction_scratch,
    "REDUCE_ALL": _reduction_scratch,
    "MIRROR_PAD": _mirror_pad_scratch,
    "SignalRfft": _fourier_scratch,
}
