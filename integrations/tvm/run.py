"""`python -m integrations.tvm.run NETWORK`: a network on TVM's plans and on memplan's, run and compared; prints a row.

Two pipelines: `default` is that of `tvm.compile`, `fused` that of TVM for a CPU, which fuses. Ways: `own` is TVM's
plan, `memplan` offsets in one storage, `whole` storages that tensors begin, `ordered` after OrderBindings, `lifted`
after LiftWorkspaces, with nests. It ends with an error where outputs differ by a bit, or memplan needs more than TVM.
Without a network it prints the names.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import IRModule

from integrations.tvm import networks
from memplan.extensions.tvm.lift import temporaries
from memplan.tvm import PlanMemory, PlannedFunction, install, uninstall

TARGET = tvm.target.Target("llvm")
WAYS: dict[str, dict[str, Any]] = {
    "memplan": {},
    "whole": {"offsets": False},
    "ordered": {"order": True},
    "lifted": {"lift": True, "nests": True},
}
TIMED = 11


class Library:
    """Kernels that were compiled once: plans do not change them, and they take all of the time."""

    def __init__(self) -> None:
        self.known: list[tuple[Any, Any]] = []
        self.own = tvm.tirx.build

    def build(self, module: Any, *arguments: Any, **options: Any) -> Any:
        for known, made in self.known:
            if tvm_ffi.structural_equal(known, module):
                return made
        self.known.append((module, self.own(module, *arguments, **options)))
        return self.known[-1][1]


def pipeline_of(name: str) -> Any:
    return relax.get_pipeline("default") if name == "default" else relax.get_default_pipeline(TARGET)


def flat(answer: Any) -> list[Any]:
    return [answer] if isinstance(answer, tvm.runtime.Tensor) else [each for part in answer for each in flat(part)]


def digest_of(program: Any, inputs: list[list[Any]]) -> str:
    """Return a hash of the outputs for all inputs, of a machine whose memory is reused."""
    machine = relax.VirtualMachine(program, tvm.cpu())
    made = hashlib.sha256()
    for row in inputs:
        for output in flat(machine["main"](*map(tvm.runtime.tensor, row))):
            made.update(output.numpy().tobytes())
    return made.hexdigest()


def least_us(program: Any, inputs: list[list[Any]]) -> float:
    """Return the time of the fastest of some runs, in microseconds."""
    machine, times = relax.VirtualMachine(program, tvm.cpu()), []
    arguments = [*map(tvm.runtime.tensor, inputs[-1])]
    while len(times) < TIMED and sum(times) < 0.5:
        start = time.perf_counter()
        machine["main"](*arguments)
        times.append(time.perf_counter() - start)
    return round(1e6 * min(times), 1)


def planned(module: Any, pipeline: str, options: dict[str, Any] | None) -> tuple[Any, PlannedFunction | None]:
    """Return a program, and what was planned for its `main`; TVM's own where there are no options."""
    found: list[PlannedFunction] = []
    uninstall()
    if options is not None:
        install(on_plan=found.append, **options)
    try:
        program = tvm.compile(module, TARGET, relax_pipeline=pipeline_of(pipeline))
    finally:
        uninstall()
    return program, next((each for each in found if each.name == "main"), None)


def before_planning(module: Any) -> IRModule:
    """Return the module that StaticPlanBlockMemory gets in the fused pipeline."""
    seen: list[IRModule] = []
    own = relax.transform.StaticPlanBlockMemory

    def watch() -> Any:
        @tvm.transform.module_pass(opt_level=0)
        def run(found: IRModule, _: Any) -> IRModule:
            seen.append(found)
            return own()(found)

        return run

    relax.transform.StaticPlanBlockMemory = watch
    try:
        with TARGET:
            relax.get_default_pipeline(TARGET)(module)
    finally:
        relax.transform.StaticPlanBlockMemory = own
    return seen[0]


def time_us(make: Callable[[], Any], module: IRModule) -> list[int]:
    """Return the median and the largest of the CPU times of a pass, in microseconds."""
    times = []
    for _ in range(TIMED):
        applied = make()
        start = time.thread_time()
        with TARGET:
            applied(module)
        times.append(1e6 * (time.thread_time() - start))
    return [round(sorted(times)[TIMED // 2]), round(max(times))]


def most_workspace(module: IRModule) -> int:
    """Return the most bytes that a kernel of a module takes from the runtime while it runs; 0 where it has symbols."""
    most = 0
    for _, function in module.functions_items():
        if isinstance(function, tvm.tirx.PrimFunc):
            sizes = [[*each.shape, tvm.DataType(str(each.dtype)).itemsize] for each in temporaries(function)]
            if all(isinstance(length, int | tvm.tirx.IntImm) for size in sizes for length in size):
                most = max(most, sum(-(-product(size) // 64) * 64 for size in sizes))
    return most


def product(lengths: list[Any]) -> int:
    made = 1
    for length in lengths:
        made *= int(length)
    return made


def row_of(name: str) -> dict[str, Any]:
    library = Library()
    tvm.tirx.build = library.build
    module, inputs = networks.made(name)
    row: dict[str, Any] = {"model": name, "runs": len(inputs)}
    for pipeline in ("default", "fused"):
        program, _ = planned(module, pipeline, None)
        expected, us = digest_of(program, inputs), {"own": least_us(program, inputs)}
        sizes: dict[str, int] = {}
        for way, options in WAYS.items():
            if pipeline == "default" and way != "memplan":
                continue
            program, found = planned(module, pipeline, options)
            if found is None or digest_of(program, inputs) != expected:
                raise SystemExit(f"{name}: outputs differ, {pipeline} {way}: {found}")
            if not found.reason and found.memplan >= found.own:
                raise SystemExit(f"{name}: no smaller plan was taken, {pipeline} {way}: {found}")
            sizes[way] = found.own if found.reason else found.memplan
            if way == "memplan":
                sizes |= {"own": found.own, "bound": found.bound, "tensors": found.tensors}
                us["memplan"] = least_us(program, inputs)
            if way == "lifted":
                sizes |= {"lifted_own": found.own, "lifted_bound": found.bound}
                us["lifted"] = least_us(program, inputs)
        row[pipeline] = sizes | {"run_us": us}
    ready = before_planning(module)
    row["fused"]["workspace"] = most_workspace(ready)
    row["own_us"] = time_us(relax.transform.StaticPlanBlockMemory, ready)
    row["us"] = time_us(lambda: PlanMemory(on_plan=lambda _: None), ready)
    return row


def main() -> None:
    print(json.dumps(row_of(sys.argv[1])) if len(sys.argv) > 1 else " ".join(networks.NAMES))


if __name__ == "__main__":
    main()
