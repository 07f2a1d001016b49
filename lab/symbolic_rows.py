"""Rows of plans for all values: `python -m lab.symbolic_rows any|evaluators|importers|executed [FILE|NAME ...]`.

`any`: of how many files the order is optimal whatever the sizes are, with the seconds of the slowest.
`evaluators`: the programs in C and in Python, bit for bit against memplan's, with bytes of source and time a call.
`importers`: ONNX models and exported programs with open dimensions, planned from the file by the library, the command
and HTTP, with one answer. `executed`: networks run in one arena at offsets of the exported C, at five values of their
symbols, bit for bit as torch runs them. Both need torch beside memplan, `importers` onnx as well, and takes networks
that torch writes for ONNX where onnxscript is installed.
"""

from __future__ import annotations

import base64
import ctypes
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lab.shapes import programs_of
from lab.support.torch_networks import networks
from memplan import read_problem
from memplan.capabilities.shapes.offset_programs import Evaluator
from memplan.capabilities.shapes.search.any_sizes import order_for_any_sizes
from memplan.capabilities.shapes.shapes import ShapesOptions, shapes
from memplan.planner.errors import MemplanError
from memplan.planner.symbols.comparing import samples
from memplan.planner.symbols.problem import SymbolicProblem, SymbolRange, compiled
from memplan.planner.symbols.space import Space, Symbol
from memplan.systems.imported import ModelOptions
from memplan.systems.reading import read_model

CALLS = 2_000


def any_sizes(paths: list[str]) -> int:
    """Print how many files have an order that is optimal whatever the sizes are."""
    found, slowest = 0, 0.0
    for path in paths:
        data = Path(path).read_bytes()
        if b'"symbols"' in data:
            lives = [(row.start, row.end) for row in SymbolicProblem.model_validate_json(data).buffers]
        else:
            lives = [(row.intervals[0][0], row.intervals[-1][1]) for row in read_problem(path).buffers]
        begun = time.process_time()
        is_any = order_for_any_sizes(lives) is not None
        spent = time.process_time() - begun
        found, slowest = found + is_any, max(slowest, spent)
        print(f"{Path(path).stem:<50} {len(lives):>5} buffers, {'any sizes' if is_any else 'no'}, {spent:.2f} s")
    print(f"{found} of {len(paths)}, the slowest {slowest:.2f} s of CPU")
    return 0


def compiled_c(source: str, folder: str) -> Callable[..., tuple[int, list[int]]]:
    """Return the function `plan` of a source in C."""
    path = Path(folder) / "plan.c"
    path.write_text(source)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(path.with_suffix(".so")), str(path)], check=True)
    plan = ctypes.CDLL(str(path.with_suffix(".so"))).plan
    plan.restype = ctypes.c_int64

    def called(values: list[int], count: int) -> tuple[int, list[int]]:
        offsets = (ctypes.c_int64 * count)()
        peak = plan(*map(ctypes.c_int64, values), offsets)
        return int(peak), list(offsets)

    return called


TIMED = """
#include <stdio.h>
#include <time.h>
int main(void) {
  static int64_t off[1 << 16]; struct timespec a, b; double best = 1e9;
  for (int r = 0; r < 20; r++) {
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    for (int k = 0; k < %d; k++) { plan(%s, off); __asm__ volatile("" ::: "memory"); }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    double t = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / %d; if (t < best) best = t;
  }
  printf("%%.0f", best); return 0;
}
"""


def evaluators(paths: list[str]) -> int:
    """Print for each file whether the programs in C and Python are equal to memplan's, their bytes and times."""
    wrong = 0
    for path in paths:
        problem = SymbolicProblem.model_validate_json(Path(path).read_bytes())
        found = {to: shapes(problem, ShapesOptions(time_limit_s=30, to=to)) for to in ("c", "python")}
        points = samples(compiled(problem).space, 20, seed=4)[-20:]
        names: dict[str, Any] = {}
        exec(found["python"].source or "", names)  # a program of our own
        with tempfile.TemporaryDirectory() as folder:
            in_c = compiled_c(found["c"].source or "", folder)
            at = [points[0][name] for name in problem.symbols]
            text = (found["c"].source or "") + TIMED % (CALLS, ",".join(map(str, at)), CALLS)
            (Path(folder) / "timed.c").write_text(text)
            timed = str(Path(folder) / "timed")
            subprocess.run(["cc", "-O2", "-o", timed, f"{timed}.c"], check=True)
            in_ns = subprocess.run([timed], capture_output=True, text=True, check=True).stdout
            is_equal = True
            for values in points:
                given = [values[name] for name in problem.symbols]
                for to, own in (("c", in_c(given, len(problem.buffers))), ("python", names["plan"](*given))):
                    peak, offsets = Evaluator(problem, programs_of(found[to])).offsets(values)
                    is_equal &= (own[0], list(own[1])) == (peak, list(offsets))
        begun = time.process_time()
        for _ in range(CALLS):
            names["plan"](*at)
        in_us = (time.process_time() - begun) / CALLS * 1e6
        wrong += not is_equal
        print(
            f"{Path(path).stem:<20} {len(problem.buffers):>4} buffers, {len(found['c'].programs)} orders, equal"
            f" {is_equal}, C {in_ns} ns and {len(found['c'].source or ''):,} bytes, Python {in_us:.1f} us",
            flush=True,
        )
    return wrong


def exported(name: str) -> tuple[Any, Any, bytes]:
    """Return a network, what torch exports of it, and its file."""
    import torch

    net, given, dims = networks()[name]
    program = torch.export.export(net.eval(), given, dynamic_shapes=dims, strict=False)
    with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
        torch.export.save(program, file.name)
        return net, program, Path(file.name).read_bytes()


def executed(names: list[str]) -> int:
    """Run networks in one arena, and compare with torch; return how many differ."""
    import torch

    wrong = 0
    for name in names or ("bert", "gpt2", "whisper", "resnet"):
        net, program, data = exported(name)
        found = shapes(data, ShapesOptions(time_limit_s=20, to="c"))
        with tempfile.TemporaryDirectory() as folder:
            plan = compiled_c(found.source or "", folder)
            space = Space.of(
                Symbol(each, row.min, min(row.max or 64, 160), row.multiple_of) for each, row in found.symbols.items()
            )
            for values in samples(space, 5, seed=7)[-5:]:
                peak, offsets = plan([values[each] for each in found.symbols], len(found.ids))
                places = {str(each): offset for each, offset in zip(found.ids, offsets, strict=True)}
                problem = read_model(data, options=ModelOptions(dims=dict(values))).problem
                for k in problem.buffers.aliases:  # views lie where their buffers do
                    places[str(problem.buffers.ids[k])] = places[str(problem.buffers.ids[problem.roots[k][0]])]
                inputs = drawn_inputs(program, values)
                with torch.no_grad():
                    want, (got, moved) = net(*inputs), in_arena(program, inputs, places, peak)
                wrong += not torch.equal(want, got)
                print(
                    f"{name:<8} {len(found.ids)} buffers, {found.status}, {dict(values)}: {peak:,} bytes,"
                    f" {moved} tensors in the arena, equal {torch.equal(want, got)}",
                    flush=True,
                )
    return wrong


def drawn_inputs(program: Any, values: Mapping[str, int]) -> list[Any]:
    """Return inputs of a program for values of its symbols."""
    import torch

    users = set(program.graph_signature.user_inputs)
    found = []
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in users:
            value = node.meta["val"]
            sizes = [size if isinstance(size, int) else _at(size.node.expr, values) for size in value.shape]
            found.append(torch.randint(0, 100, sizes) if value.dtype == torch.long else torch.randn(sizes))
    return found


def _at(size: Any, values: Mapping[str, int]) -> int:
    return int(size.subs({symbol: values[symbol.name] for symbol in size.free_symbols}))


def in_arena(program: Any, inputs: list[Any], places: Mapping[str, int], peak: int) -> tuple[Any, int]:
    """Run a program with every tensor at its place in one arena; return its output, and how many tensors lay there."""
    import torch

    whole = torch.full((peak + 64,), 255, dtype=torch.uint8)
    arena = whole[-whole.data_ptr() % 64 :][:peak]
    moved = 0

    def placed(name: str, value: Any) -> Any:
        nonlocal moved
        lies = 0 <= value.data_ptr() - arena.data_ptr() < max(1, peak)
        if f"main/{name}" not in places or lies or not value.numel():
            return value
        moved += 1
        size, offset = value.numel() * value.element_size(), places[f"main/{name}"]
        own = arena[offset : offset + size].view(value.dtype).as_strided(value.shape, torch.empty_like(value).stride())
        return own.copy_(value)

    class InArena(torch.fx.Interpreter):  # type: ignore[misc]  # torch has no types here
        def run_node(self, node: Any) -> Any:
            value = super().run_node(node)
            if isinstance(value, torch.Tensor) and node.op in ("placeholder", "call_function"):
                return placed(node.name, value)
            return value

    signature, state = program.graph_signature, {**program.state_dict, **program.constants}
    given = iter(inputs)
    every = [next(given) if spec.kind.name == "USER_INPUT" else state[spec.target] for spec in signature.input_specs]
    return InArena(program.graph_module).run(*every)[-1], moved


def opened_models() -> dict[str, tuple[bytes, dict[str, SymbolRange]]]:
    """Return the light models of the package onnx with any batch, exported programs, and ranges of symbols."""
    import onnx

    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    found: dict[str, tuple[bytes, dict[str, SymbolRange]]] = {}
    for path in sorted(folder.glob("*.onnx")):
        model = onnx.load(path)
        weights = {row.name for row in model.graph.initializer}
        for row in (row for row in model.graph.input if row.name not in weights):
            row.type.tensor_type.shape.dim[0].dim_param = "batch"
        for row in model.graph.output:
            row.type.tensor_type.shape.dim[0].dim_param = "rows"
        reshaped = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
        for row in (row for row in model.graph.initializer if row.name in reshaped):
            shape = onnx.numpy_helper.to_array(row).copy()
            shape[0] = 0  # as the input has it
            row.CopyFrom(onnx.numpy_helper.from_array(shape, row.name))
        del model.graph.value_info[:]
        found[path.name] = model.SerializeToString(), {"batch": SymbolRange(max=64)}
    if find_spec("onnxscript") is not None:
        found |= {f"{name}.onnx": (by_torch(name), {}) for name in networks()}
    return found | {f"{name}.pt2": (exported(name)[2], {}) for name in networks()}


def by_torch(name: str) -> bytes:
    """Return a network as torch writes it for ONNX."""
    import torch

    net, given, dims = networks()[name]
    written = torch.onnx.export(net.eval(), given, dynamic_shapes=dims, dynamo=True, verbose=False)
    return bytes(written.model_proto.SerializeToString())


def importers(folder: list[str]) -> int:
    """Plan models by the library, the command and HTTP, and return how many fail or have several answers."""
    from tests.support.server import running

    paths, wrong = [path for each in folder for path in sorted(Path(each).iterdir())], 0
    rows = opened_models() | {path.name: (path.read_bytes(), dict[str, SymbolRange]()) for path in paths}
    with running() as server, tempfile.TemporaryDirectory() as there:
        for name, (data, symbol) in rows.items():
            options = ShapesOptions(symbol=symbol, time_limit_s=20)
            (Path(there) / name).write_bytes(data)
            flags = [f"--symbol={each}={row.min}..{row.max}" for each, row in symbol.items()]
            command = [sys.executable, "-m", "memplan.api.cli.main", "shapes", str(Path(there) / name), *flags]
            body = {"problem": base64.b64encode(data).decode(), "options": options.model_dump(mode="json")}
            try:
                begun = time.process_time()
                own = json.loads(shapes(data, options).model_dump_json())
                spent = time.process_time() - begun
                called = subprocess.run([*command, "--time-limit=20"], capture_output=True, text=True, check=False)
                answers = [json.loads(called.stdout or "null"), server.client.post("/v1/shapes", json=body).json()]
                is_one = all(each and each["bound"] == own["bound"] and each["ids"] == own["ids"] for each in answers)
                said = (
                    f"{len(own['ids'])} buffers, {own['status']} by {own['proof']['by']}, one {is_one}, {spent:.1f} s"
                )
            except MemplanError as error:
                is_one, said = False, str(error)
            wrong += not is_one
            print(f"{name:<32} {said}", flush=True)
    return wrong


ROWS = {"any": any_sizes, "evaluators": evaluators, "importers": importers, "executed": executed}

if __name__ == "__main__":
    sys.exit(bool(ROWS[sys.argv[1]](sys.argv[2:])))
