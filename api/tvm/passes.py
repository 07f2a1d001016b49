"""The pass in place of StaticPlanBlockMemory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tvm import relax, tirx
from tvm.ir import Call, IRModule, Op
from tvm.target import Target
from tvm.ir.transform import module_pass

from memplan.api.tvm.lifetimes import Bounds, Lifetimes, UnreadableError
from memplan.api.tvm.places import placed
from memplan.api.tvm.rewriting import Rewriter

log = logging.getLogger("memplan.tvm")
_OwnPass: Callable[[], Any] = relax.transform.StaticPlanBlockMemory
_ADDRESSED = {"llvm", "c", "cuda", "hexagon"}
"""Targets on whose devices the host, or Hexagon's storages, move pointers; elsewhere a tensor at an offset is copied."""


@dataclass(frozen=True)
class PlannedFunction:
    """A function that was planned: bytes of storages by TVM's plan and by memplan's, and the least of any plan.

    `reason` is empty where memplan's plan was taken. `beside`: bytes of tensors that neither planner places, such as
    results.
    """

    name: str
    tensors: int
    own: int
    memplan: int
    bound: int
    beside: int
    reason: str = ""

    def __str__(self) -> str:
        plan = f"{self.memplan:,} bytes by memplan" if not self.reason else f"TVM's plan stays: {self.reason}"
        return f"{self.name}: {self.tensors} tensors, {self.own:,} bytes by TVM, {plan}, at least {self.bound:,}"


Listener = Callable[[PlannedFunction], None]


@dataclass
class _Made:
    function: relax.Function
    tensors: int = 0
    bound: int = 0
    beside: int = 0
    reason: str = ""
    storages: list[int] = field(default_factory=list)


def PlanMemory(*, offsets: bool | None = None, on_plan: Listener | None = None) -> Any:  # noqa: N802  as TVM names passes
    """Return the pass that plans all tensors of a function together, in one storage for each device and scope.

    It stands where StaticPlanBlockMemory stood, and needs no more bytes: a function for which TVM's own plan is as small,
    or that cannot be read, keeps that one. `offsets`: whether tensors may lie at offsets; by default, where the device's
    pointers can be moved. `on_plan` is called with each function; without it, a logger named `memplan.tvm` has a line.
    """

    @module_pass(opt_level=0, name="MemplanPlanMemory")
    def run(module: IRModule, _: Any) -> IRModule:
        own = _OwnPass()(module)
        made: dict[Any, _Made] = {}
        ours = module.clone()
        for name, function in module.functions_items():
            if isinstance(function, relax.Function):
                made[name] = _made(module, function, offsets)
                ours[name] = made[name].function
        ours = _OwnPass()(ours)
        for name, each in made.items():
            before, after = (allocated(plan[name]) - each.beside for plan in (own, ours))
            reason = each.reason or ("" if after < before else "no smaller plan was found")
            if reason:
                ours[name] = own[name]
            row = PlannedFunction(name.name_hint, each.tensors, before, after, each.bound, each.beside, reason)
            (on_plan or _logged)(row)
        return ours

    return run


def _logged(row: PlannedFunction) -> None:
    log.info("%s", row)


def _made(module: IRModule, function: relax.Function, offsets: bool | None) -> _Made:
    try:
        lifetimes = Lifetimes(module, function)
    except UnreadableError as error:
        return _Made(function, reason=str(error))
    rewriter, tensors = Rewriter(), lifetimes.planned()
    made = _Made(function, len(tensors), beside=sum(each.size for each in lifetimes.tensors))
    made.beside -= sum(each.size for each in tensors)
    for place in dict.fromkeys((each.device, each.scope) for each in tensors):
        here = [each for each in tensors if (each.device, each.scope) == place]
        places = placed(here, offsets=_has_offsets(module, place[0]) if offsets is None else offsets)
        rewriter.place(here, places)
        made.bound += places.bound
    if tensors:
        made.function = rewriter.function(function)
    return made


def _has_offsets(module: IRModule, device: int) -> bool:
    """Return True if pointers of a device, by its index, can be moved by the host; -1 is the host."""
    devices = module.global_infos.get("vdevice") or []
    target = devices[device].target if 0 <= device < len(devices) else Target.current(allow_none=True)
    return device == -1 or (target is not None and target.kind.name in _ADDRESSED)


_STORAGE, _TENSOR = Op.get("relax.memory.alloc_storage"), Op.get("relax.builtin.alloc_tensor")


def allocated(function: relax.Function) -> int:
    """Return the bytes that a planned function allocates, but for sizes without a bound."""
    bounds, total = Bounds(function), 0

    def visit(found: Any) -> None:
        nonlocal total
        if not isinstance(found, Call):
            return
        if found.op == _STORAGE:
            size = bounds.most_bytes(found.args[0], "uint8")
            total += size or 0
        elif found.op == _TENSOR and isinstance(found.args[0], relax.ShapeExpr):
            total += bounds.most_bytes(found.args[0], found.args[1].value) or 0

    relax.analysis.post_order_visit(function, visit)
    return total


def install(**options: Any) -> None:
    """Let every pipeline that asks for `relax.transform.StaticPlanBlockMemory` from now on have this pass."""

    def plan_memory() -> Any:
        return PlanMemory(**options)

    relax.transform.StaticPlanBlockMemory = plan_memory


def uninstall() -> None:
    """Give TVM its own pass back."""
    relax.transform.StaticPlanBlockMemory = _OwnPass
