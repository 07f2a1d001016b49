"""Reader of the text that LiteRT's `tflite::PrintInterpreterState` prints: tensors with offsets, and nodes.

A tensor in an arena is alive from its writer to its last reader: inputs from before the first node, outputs until the
end, temporaries while their node runs. An output at the offset of an input shares its buffer if the operator only
changes the shape, or is elementwise and the last reader of the input. Each subgraph has its own arena, without
persistent and dynamic tensors. Source: LiteRT (TensorFlow 2.x), lite/optional_debug_tools.cc: PrintInterpreterState;
lite/arena_planner.cc.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.foreign.imported import ImportedProblem, plan_of_offsets, problem_of_rows, refuse_dims, size_of
from memplan.planner.foreign.model_options import ModelOptions
from memplan.programs.operations.graph_facts import OVERWRITING
from memplan.programs.readers.vocabulary import kind_of

_LINE = re.compile(
    r"-+Subgraph-(?P<subgraph>\d{1,6}) has (?:\d+ tensors and (?P<count>\d{1,9}) nodes)?.*"
    r"|\d+ (?P<ends>Inputs|Outputs): (?P<listed>\S+).*"
    r"|Tensor +(?P<tensor>\d{1,9}) (?P<name>.*?) +\S+ +(?P<kind>\S+) +(?P<bytes>\d{1,19}) +/ +[\d.]+ +\S+"
    r" +\[(?P<start>-?\d{1,19}), (?P<end>-?\d{1,19})\)"
    r"|Node +(?P<node>\d{1,9}) Operator (?:Builtin Code +\d+|Custom Name) (?P<op>\S+)(?P<state>.*)"
    r"|\d+ (?P<role>Input|Output|Intermediate|Temporary) Tensors:(?P<tensors>\S+).*"
    r"|Execution plan as the list of \d+ nodes invoked in-order: (?P<plan>\S+)"
)
_LISTED = re.compile(r"(-?\d{1,9})(?:-(\d{1,9}))?(?=[,\]])")
_ARENA = "kTfLiteArenaRw"
_SAME_BYTES = frozenset(("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "BITCAST"))
_MOST = 1_000_000


@dataclass
class _Tensor:
    """A printed tensor of an arena: its name, its offset in the arena (`start`), and its bytes."""

    name: str
    start: int
    size: int


@dataclass
class _Node:
    """A printed node: its operator, and its tensors by role, such as "Input"."""

    op: str
    delegated: bool
    tensors: dict[str, list[int]] = field(default_factory=dict)


@dataclass
class _Subgraph:
    """A printed subgraph: its tensors and nodes by number, and its execution plan if printed."""

    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    tensors: dict[int, _Tensor] = field(default_factory=dict)
    nodes: dict[int, _Node] = field(default_factory=dict)
    plan: list[int] | None = None
    n_nodes: int = 0


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Convert a printed state to a problem with a pool per subgraph; raises FormatError if tensors are missing."""
    refuse_dims(options, "states of an interpreter")
    rows, offsets = list[dict[str, object]](), dict[int | str, int]()
    subgraphs = _parse_subgraphs(data.decode(errors="backslashreplace"))
    pools = [f"subgraph {number}" for number, row in subgraphs.items() if row.tensors]
    for number, subgraph in subgraphs.items():
        whole = sum("Output" in node.tensors for node in subgraph.nodes.values())
        if whole < subgraph.n_nodes:
            raise FormatError(
                f"subgraph {number}: must have {subgraph.n_nodes} nodes with outputs, got {whole}: is the file cut off?"
            )
        for k, (start, end) in _lifetimes(number, subgraph).items():
            tensor = subgraph.tensors[k]
            name = f"{number}/{k} {tensor.name}"
            size = size_of(f"tensor {excerpt(name)}", tensor.size, options)
            rows.append({"id": name, "size": size, "start": start, "end": end, "pools": (f"subgraph {number}",)})
            offsets[name] = tensor.start
    if not rows:
        raise FormatError("must have tensors of an arena with their offsets, as PrintInterpreterState prints, got none")
    problem = problem_of_rows(rows, pools)
    imported = ImportedProblem(problem, own_peak=_arena_bytes(subgraphs))
    return replace(imported, own_plan=plan_of_offsets(problem, offsets))


def _arena_bytes(subgraphs: Mapping[int, _Subgraph]) -> int:
    return sum(max((row.start + row.size for row in each.tensors.values()), default=0) for each in subgraphs.values())


def _parse_subgraphs(text: str) -> dict[int, _Subgraph]:
    """Return the subgraphs in a printed state by number; if a subgraph is printed twice, the later one counts."""
    subgraphs: dict[int, _Subgraph] = {}
    here, node = _Subgraph(), _Node("", delegated=True)
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is None:
            continue
        if (number := match["subgraph"]) is not None:
            here = subgraphs[int(number)] = _Subgraph(n_nodes=int(match["count"] or 0))
        elif match["ends"]:
            (here.inputs if match["ends"] == "Inputs" else here.outputs).extend(_parse_list(match["listed"]))
        elif match["tensor"] is not None:
            if match["kind"] == _ARENA and int(match["start"]) >= 0:
                here.tensors[int(match["tensor"])] = _Tensor(match["name"], int(match["start"]), int(match["bytes"]))
        elif match["node"] is not None:
            node = here.nodes[int(match["node"])] = _Node(match["op"], "(delegated" in match["state"])
        elif match["role"]:
            node.tensors[match["role"]] = _parse_list(match["tensors"])
        else:
            here.plan = _parse_list(match["plan"])
    return subgraphs


def _parse_list(text: str) -> list[int]:
    numbers: list[int] = []
    for first, last in _LISTED.findall(text):
        if last and int(last) - int(first) > _MOST:
            raise FormatError(f"list: must have at most {_MOST} numbers, got {excerpt(text)}")
        numbers += range(int(first), int(last or first) + 1)
    return [number for number in numbers if number >= 0]


def _lifetimes(number: int, subgraph: _Subgraph) -> dict[int, tuple[int, int]]:
    """Return the lifetimes of buffers in positions of nodes, keyed by a buffer's first tensor."""
    order = [k for k, row in subgraph.nodes.items() if not row.delegated] if subgraph.plan is None else subgraph.plan
    if missing := [k for k in order if k not in subgraph.nodes]:
        raise FormatError(f"subgraph {number}: must have node {missing[0]}, which its execution plan lists")
    steps = [subgraph.nodes[k] for k in order]
    first = dict.fromkeys(subgraph.inputs, -1)
    last = dict.fromkeys(subgraph.inputs, -1)
    for when, node in enumerate(steps):
        for k in (k for row in node.tensors.values() for k in row):
            first.setdefault(k, when)
            last[k] = when
    last.update((k, len(steps)) for k in subgraph.outputs)
    home: dict[int, int] = {}
    for when, node in enumerate(steps):
        for source, result in _shared_pairs(subgraph, node, when, first, last):
            home[result] = home.get(source, source)
    spans: dict[int, tuple[int, int]] = {}
    for k in subgraph.tensors:
        if k in first:
            at = home.get(k, k)
            start, end = spans.get(at, (first[k], last[k] + 1))
            spans[at] = min(start, first[k]), max(end, last[k] + 1)
    return spans


def _shared_pairs(
    subgraph: _Subgraph, node: _Node, when: int, first: Mapping[int, int], last: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield (input, output) for each output of a node that shares an input's buffer; `when` is the node's position."""
    is_elementwise = kind_of(node.op, {}) in OVERWRITING | {"softmax"}
    tensors = subgraph.tensors
    for result in node.tensors.get("Output", ()):
        for source in node.tensors.get("Input", ()):
            if source not in tensors or result not in tensors or first[result] != when:
                continue
            same = (tensors[source].start, tensors[source].size) == (tensors[result].start, tensors[result].size)
            if same and (node.op in _SAME_BYTES or (is_elementwise and last[source] == when)):
                yield source, result
                break
