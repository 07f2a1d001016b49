"""Plans that other systems made by themselves: `memplan verify` must find all sound, or this ends at the first alarm.

`python -m lab.sound_plans litert`: arenas of networks in many sizes, by LiteRT's interpreter (extra `runtimes`).
`python -m lab.sound_plans inductor COUNT`: wrappers of drawn networks, with pools and without, by torch.compile.
`python -m lab.sound_plans GRAPHS...`: files of ggml's graphs, of which each size is a plan (docs/ggml.md).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memplan.planner.verify.verifier import verify
from memplan.systems.reading import read_model

SIDES, SCALES = range(32, 200, 8), (2, 4, 8, 16, 32)
_TITLE = "Tensor  ID Name  Type  AllocType  Size (Bytes/MB)  Shape  MemAddr-Offset"


def interpreter_state(data: bytes) -> bytes:
    """Return what PrintInterpreterState would print of a TFLite model's only subgraph, without delegates."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=plain)
    interpreter.allocate_tensors()
    nodes = interpreter._get_ops_details()
    ends = [
        [row["index"] for row in rows] for rows in (interpreter.get_input_details(), interpreter.get_output_details())
    ]
    in_arena = {*ends[0], *(int(k) for node in nodes for k in node["outputs"])}
    places = {k: interpreter.tensor(k)() for k in sorted(in_arena)}
    base = min(view.__array_interface__["data"][0] for view in places.values())
    lines = [
        "Interpreter has 1 subgraphs.",
        "",
        f"-----Subgraph-0 has {len(places)} tensors and {len(nodes)} nodes-----",
    ]
    lines += [f"{len(row)} {word}: {_listed(row)}" for word, row in zip(("Inputs", "Outputs"), ends, strict=True)]
    lines += ["", _TITLE]
    for k, view in places.items():
        start = view.__array_interface__["data"][0] - base
        size = f"{view.nbytes} / 0.00 [{','.join(map(str, view.shape))}]"
        lines.append(
            f"Tensor {k:3} {'of a network':25} kTfLiteFloat32  kTfLiteArenaRw {size} [{start}, {start + view.nbytes})"
        )
    for k, node in enumerate(nodes):
        lines.append(f"Node {k:3} Operator Builtin Code   0 {node['op_name']} (not delegated)")
        lines += [f"  9 {word} Tensors:{_listed(node[word.lower() + 's'])}" for word in ("Input", "Output")]
    lines.append(f"Execution plan as the list of {len(nodes)} nodes invoked in-order: [0-{len(nodes) - 1}]")
    return "\n".join(lines).encode()


def _listed(numbers: Any) -> str:
    return f"[{','.join(map(str, numbers))}] -> 0B (0.00MB)"


def litert() -> Iterator[bytes]:
    from tests.support import tflite_networks

    for network in (tflite_networks.mobilenet_v1, tflite_networks.mobilenet_v2, tflite_networks.vgg):
        for side in SIDES:
            yield from (interpreter_state(network(side, scale)) for scale in SCALES)


def inductor(count: int) -> Iterator[bytes]:
    import torch
    from torch._inductor import config
    from torch._inductor.utils import run_and_get_code

    class Drawn(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, width: int, depth: int) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(depth))

        def forward(self, x: Any) -> Any:
            older = [x]
            for k, layer in enumerate(self.layers):
                x = torch.relu(layer(x)).softmax(-1) @ x.T @ older[k // 2]
                older.append(x)
            return x, older[1].view(-1)

    for seed in range(count):
        torch._dynamo.reset()
        torch.manual_seed(seed)
        config.memory_planning = seed % 2 == 1
        width = 8 + 4 * seed
        with torch.no_grad():
            compiled = torch.compile(Drawn(width, 2 + seed % 5).eval(), dynamic=False)
            yield from (code.encode() for code in run_and_get_code(compiled, torch.randn(width, width))[1])


def graphs(*files: str) -> Iterator[bytes]:
    for file in files:
        start, *parts = Path(file).read_bytes().split(b'{"format"')
        yield from (start + b'{"format"' + part for part in parts)


def main() -> None:
    kind, *arguments = sys.argv[1:]
    plans = (
        litert()
        if kind == "litert"
        else inductor(int(arguments[0]))
        if kind == "inductor"
        else graphs(kind, *arguments)
    )
    count = 0
    for count, data in enumerate(plans, 1):
        model = read_model(data)
        assert model.own_plan is not None
        if violations := verify(model.problem, model.own_plan):
            Path("alarm.txt").write_bytes(data)
            raise SystemExit(f"plan {count}, in alarm.txt: {violations[0].message}")
    print(f"{count} plans, all sound")


if __name__ == "__main__":
    main()
