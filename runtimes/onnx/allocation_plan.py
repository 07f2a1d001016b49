"""Reader of the allocation plans that ONNX Runtime prints. It needs the plan's model, and returns a problem.

ONNX Runtime prints such a plan if the line of session_state.cc that logs it is enabled. Each buffer becomes a pool of
its size. A value is alive from the step that writes it to the last step that reads it. A result stored in the bytes of
an input counts as the same value if it is a view, or if the input is not read later. Steps of different streams are
ordered only if a notification or a value passes between the streams; otherwise, a value is assumed to be alive until
the next value of its buffer is written. Source: microsoft/onnxruntime, core/framework: allocation_planner.cc and
execution_steps.cc, as of 1.15 and of 1.31.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from memplan.planner.errors import CUT_OFF, FormatError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, plan_of_offsets
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.model.finding import MAX_LISTED, Finding
from memplan.planner.model.problem import Problem
from memplan.programs.readers.draft import MOST_USES, OperationsDraft
from memplan.runtimes.onnx.loading import load_with_shapes
from memplan.runtimes.onnx.model import graphs_of, subgraphs
from memplan.runtimes.onnx.values import GraphNames, Values

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto

HEAD = b"(ort_value_idx) output_name : <allocation plan>"
_LINE = re.compile(
    r"\((?P<value>\d{1,9})\) ?(?P<name>.+) : (?P<kind>[A-Z]\w+)(?: (?P<reused>\d{1,9}))?, .*"
    r"|Start logic stream ?: (?P<stream>\d{1,6}) ?on .*"
    r"|(?:LaunchKernel - NodeIndex: |Launch kernel with node id: )(?P<node>\d{1,9})(?:, Name: (?P<label>.*)|\. ?)?"
    r"|(?:ActivateNotification - NotificationId: |ActivateNotificationStep: .* id: )(?P<activated>\d{1,9})\D*"
    r"|(?:WaitOnEP - NotificationId: |WaitOnEPStep: .* id: )(?P<awaited>\d{1,9})\D*"
)
_UNPLANNED = {"AllocateStatically", "AllocatedExternally", "NotSet"}
_VIEWS = {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"}
_APART = set("""
AveragePool Concat Conv ConvInteger ConvTranspose Gather GatherElements GatherND Gemm GlobalAveragePool GlobalMaxPool
MatMul MatMulInteger MaxPool Pad QLinearConv QLinearMatMul ReduceMax ReduceMean ReduceSum Resize Tile TopK Transpose
""".split())  # fmt: skip  # noqa: SIM905
"""Operators that read their inputs even after starting to write, so they cannot work in place."""


@dataclass(frozen=True)
class _Step:
    """A step of a stream: it runs a node, activates a notification, or awaits a notification.

    `place` is the step's position in its stream.
    """

    stream: int
    place: int
    node: tuple[int, str] | None = None
    activated: int | None = None
    awaited: int | None = None


@dataclass
class _Value:
    """A value in a buffer: its bytes, and the positions of its writer (None for an input), uses (`steps`) and end."""

    name: str
    size: int
    writer: int | None
    steps: list[int]
    end: int

    @property
    def start(self) -> int:
        return -1 if self.writer is None else self.writer


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Raise FormatError, because a plan without its model lacks sizes; `read_of` reads both together."""
    raise FormatError("must follow its model, which contains the sizes: `memplan verify MODEL.onnx FILE`")


def read_of(model: bytes, data: bytes, options: ModelOptions) -> ImportedProblem:
    """Return the problem of the first plan in an ONNX Runtime log; `model` is the model file that the runtime saved."""
    homes, streams = _read_printed(data.decode(errors="backslashreplace").split(HEAD.decode())[1])
    program = _Program(load_with_shapes(model, options).model.graph, streams, options)
    rows, races = list[dict[str, Any]](), list[str]()
    buffers = program.buffers(homes)
    for buffer, values in buffers.items():
        for value, later in zip_longest(values, values[1:]):
            end = value.end
            if later is not None and not all(program.is_before(step, later.writer) for step in value.steps):
                end = max(end, later.start + 1)
                races += program.races(value, later)
            rows.append({"id": value.name, "size": value.size, "start": value.start, "end": end, "pools": (buffer,)})
    if not rows:
        raise FormatError("plan: must contain values of the model in allocated buffers, got none")
    pools = [{"name": buffer, "size": program.size(buffer)} for buffer in buffers]
    problem = Problem.model_validate({"buffers": rows, "pools": pools})
    plan = plan_of_offsets(problem, dict.fromkeys(problem.buffers.ids, 0))
    found = tuple(Finding("race", sentence) for sentence in races[:MAX_LISTED])
    return ImportedProblem(problem, warnings=found, own_peak=sum(map(program.size, buffers)), own_plan=plan)


def _read_printed(text: str) -> tuple[dict[str, str], list[list[_Step]]]:
    """Return a mapping from each planned value to its buffer, and the steps of each stream.

    A buffer has the name of the value for which it was allocated.
    """
    values, streams = dict[int, re.Match[str]](), list[list[_Step]]()
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is None:
            continue
        if match["value"] is not None:
            values[int(match["value"])] = match
        elif match["stream"] is not None:
            streams.append([])
        elif streams:
            node = None if match["node"] is None else (int(match["node"]), match["label"] or "")
            awaited, activated = (None if each is None else int(each) for each in match.group("awaited", "activated"))
            streams[-1].append(_Step(len(streams) - 1, len(streams[-1]), node, activated, awaited))
    homes = {}
    for match in values.values():
        at, seen = match, {match["value"]}
        while at["kind"] == "Reuse":
            reused = int(at["reused"] or -1)
            if reused not in values or values[reused]["value"] in seen:
                raise FormatError(
                    f"value {excerpt(match['name'])}: must reuse the buffer of another value of the plan, got "
                    f"{at['reused']}"
                )
            at = values[reused]
            seen.add(at["value"])
        if at["kind"] == "Share":
            raise FormatError(f"value {excerpt(match['name'])}: must name the value that owns the buffer, got Share")
        if at["kind"] not in _UNPLANNED:
            homes[match["name"]] = at["name"]
    return homes, streams


class _Program:
    """The steps of all streams in one order that respects their dependencies, with the values that each step uses."""

    def __init__(self, graph: "GraphProto", streams: Sequence[Sequence[_Step]], options: ModelOptions) -> None:
        """Match steps with the model's nodes, order all steps, and index each value's writer and readers."""
        self.scope = GraphNames(graph, None, "")
        self.values = Values(graph, OperationsDraft(None, (), options, options.alignment or 1))
        self.inputs, self.outputs = ({row.name for row in rows} for rows in (graph.input, graph.output))
        by_name = {node.name: node for node in graph.node if node.name}
        self.nodes: dict[_Step, NodeProto] = {}
        for step in chain.from_iterable(streams):
            if step.node is not None:
                number, name = step.node
                node = by_name.get(name) or (graph.node[number] if number < len(graph.node) and not name else None)
                if node is None:
                    raise FormatError(
                        f"node {excerpt(name or number)}: must be a node of the model that optimized_model_filepath "
                        "saves"
                    )
                self.nodes[step] = node
        if sum(map(len, streams)) * len(streams) > MOST_USES:
            raise FormatError(
                f"streams: the number of steps times the number of streams must be at most {MOST_USES}, got more"
            )
        self.makers = {name: step for step, node in self.nodes.items() for name in node.output if name}
        self.order: list[_Step] = []
        self.clocks: list[list[int]] = []  # Each vector clock counts the steps of each stream that have ended.
        self._order_steps(streams)
        self.writer = {name: k for k, step in enumerate(self.order) for name in self._node_values(step, "output")}
        self.readers: dict[str, list[int]] = {}
        for k, step in enumerate(self.order):
            for name in self._node_values(step, "input"):
                self.readers.setdefault(name, []).append(k)

    def _node_values(self, step: _Step, ends: str) -> list[str]:
        if (node := self.nodes.get(step)) is None:
            return []
        inside = (
            name for _, graph in subgraphs(node) for each in graphs_of(graph) for row in each.node for name in row.input
        )
        return [name for name in (*getattr(node, ends), *(inside if ends == "input" else ())) if name]

    def _order_steps(self, streams: Sequence[Sequence[_Step]]) -> None:
        """Order the steps of all streams, each after the steps it waits for; raises FormatError for a deadlock."""
        done: dict[object, int] = {}
        heads = [0] * len(streams)
        total = sum(map(len, streams))
        while len(self.order) < total:
            before = len(self.order)
            for s, stream in enumerate(streams):
                while heads[s] < len(stream):
                    step = stream[heads[s]]
                    waits: list[object] = [
                        self.makers[name] for name in self._node_values(step, "input") if name in self.makers
                    ]
                    waits += [] if step.awaited is None else [step.awaited]
                    if any(each not in done for each in waits):
                        break
                    clock = [0] * len(streams)
                    for k in (*(done[each] for each in waits), *([done[stream[heads[s] - 1]]] if heads[s] else ())):
                        clock = [max(pair) for pair in zip(clock, self.clocks[k], strict=True)]
                    heads[s] += 1
                    clock[s] = heads[s]
                    done[step] = len(self.order)
                    if step.activated is not None:
                        done[step.activated] = len(self.order)
                    self.order.append(step)
                    self.clocks.append(clock)
            if len(self.order) == before:
                raise FormatError("streams: must let each node run after the writers of its inputs, got a deadlock")

    def is_before(self, one: int, other: int | None) -> bool:
        """Return True if step `one` ends before step `other` begins, at any speed of the streams."""
        return other is not None and one != other and self.clocks[other][self.order[one].stream] > self.order[one].place

    def races(self, value: _Value, later: _Value) -> Iterator[str]:
        """Yield a sentence if a stream may still use `value` when another one overwrites it with `later`."""
        if later.writer is None:
            return
        stream = self.order[later.writer].stream
        if others := {self.order[step].stream for step in value.steps if not self.is_before(step, later.writer)} - {
            stream
        }:
            used = f"which stream {min(others)} uses, and neither waits for the other"
            yield f"stream {stream} writes {excerpt(later.name)} over the bytes of {excerpt(value.name)}, {used}"

    def size(self, name: str) -> int:
        """Return the bytes of a value; raises FormatError if its type or shape is unknown."""
        return self.values.size(self.scope, name, "the plan")

    def buffers(self, homes: Mapping[str, str]) -> dict[str, list[_Value]]:
        """Return the values of each buffer, in the order of their writing.

        `homes` maps each planned value to the value whose buffer it uses; that value's name is the key of the buffer.
        """
        values = dict[str, _Value]()
        for name in sorted(homes, key=lambda name: self.writer.get(name, -1)):
            writer = self.writer.get(name)
            if writer is None and name not in self.inputs:
                raise FormatError(
                    f"value {excerpt(name)}: must be an input or written by a node of the streams", way=CUT_OFF
                )
            steps = [*([] if writer is None else [writer]), *self.readers.get(name, ())]
            end = len(self.order) + 1 if name in self.outputs else max(steps, default=-1) + 1
            value = _Value(name, self.size(name), writer, steps, end)
            source = next((values[each] for each in self._sources(value, homes, values)), None)
            if source is not None:
                source.steps += steps
                source.end = max(source.end, end)
            values[name] = source or value
        buffers: dict[str, list[_Value]] = {}
        for name, value in values.items():
            if value.name == name:
                buffers.setdefault(homes[name], []).append(value)
        return buffers

    def _sources(self, value: _Value, homes: Mapping[str, str], values: Mapping[str, _Value]) -> Iterator[str]:
        """Yield the inputs in whose bytes the writer of `value` stores its result, as a view or in place."""
        if value.writer is None:
            return
        node = self.nodes[self.order[value.writer]]
        for name in node.input:
            if name not in values or homes.get(name) != homes[value.name]:
                continue
            source = values[name]
            is_last = all(step == value.writer or self.is_before(step, value.writer) for step in source.steps)
            in_place = (
                source.writer is not None and source.size == value.size and is_last and source.end <= len(self.order)
            )
            if node.op_type in _VIEWS or (in_place and node.op_type not in _APART):
                yield name
