"""The pass that plans the memory of a module, in place of StaticPlanBlockMemory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tvm import relax, tirx
from tvm.ir import Call, IRModule, Op
from tvm.ir.transform import PassContext, module_pass
from tvm.target import Target

from memplan.api.tvm.lifetimes import ALLOCATES, Lifetimes, bindings_of, bytes_of, items
from memplan.api.tvm.places import PoolInfo, StoragePlaces, place_in_pools, place_whole
from memplan.api.tvm.rewriting import Rewriter
from memplan.api.tvm.symbolic import Symbols, UnreadableError, place_for_all
from memplan.planner.errors import MemplanError

log = logging.getLogger("memplan.tvm")
_OwnPass: Callable[[], Any] = relax.transform.StaticPlanBlockMemory
_ADDRESSED = {"llvm", "c", "cuda", "hexagon"}
"""Targets on whose devices pointers can be moved to an offset: by the host, or by Hexagon's storages. Elsewhere
`ensure_zero_offset` copies."""


@dataclass(frozen=True)
class PlannedFunction:
    """Bytes of a function's storages by TVM's plan and by memplan's, and the least of any plan, at values of symbols.

    `reason` says why TVM's plan stays, and is empty where memplan's was taken.
    """

    name: str
    tensors: int
    own: int
    memplan: int
    bound: int
    at: dict[str, int]
    reason: str = ""

    def __str__(self) -> str:
        where = "".join(f", {name} = {value}" for name, value in self.at.items())
        text = f"{self.name}{where}: {self.tensors} tensors, {self.own:,} bytes by TVM, "
        return text + (f"whose plan stays: {self.reason}" if self.reason else f"{self.memplan:,} by memplan")


Listener = Callable[[PlannedFunction], None]


def _logged(planned: PlannedFunction) -> None:
    log.log(logging.WARNING if planned.reason.startswith(UNREADABLE) else logging.INFO, "%s", planned)


UNREADABLE = "it cannot be read: "


def PlanMemory(  # noqa: N802  as TVM names passes
    *,
    pools: Sequence[PoolInfo] = (),
    offsets: bool | None = None,
    nests: bool = False,
    on_plan: Listener = _logged,
) -> Any:
    """Return the pass that plans all tensors of a function together: one storage for each device, and offsets in it.

    It stands where StaticPlanBlockMemory stood, and never needs more bytes: a function for which TVM's own plan is as
    small, or that cannot be read, keeps that one. `pools` are storages to be used instead of one that grows; what does
    not fit is a PlanMemoryError. `offsets` is whether tensors may lie at offsets, by default where a device's pointers
    can be moved. With `nests`, tensors are alive for the loop nests of a kernel that use them, and not for the whole
    call. `on_plan` is called with what was planned; by default, the logger `memplan.tvm` has a line.
    """
    planner = _Planner(offsets, nests, tuple(pools))

    def run(module: IRModule, _: PassContext) -> IRModule:
        own, ours = _OwnPass()(module), module.clone()
        functions = module.functions_items()
        kernels = {name for name, each in functions if isinstance(each, tirx.PrimFunc)}
        made = {}
        for name, function in functions:
            if isinstance(function, relax.Function):
                made[name] = planner.plan(module, Lifetimes(module, function, kernels, nests=nests))
                ours[name] = made[name].function
        if any(each.leaves_some for each in made.values()):
            ours = _OwnPass()(ours)
        may_alias = False
        for name, each in made.items():
            planned = _compared(name.name_hint, each, own[name], ours[name], must=bool(pools))
            if planned.reason:
                ours[name] = own[name]
            may_alias |= each.may_alias and not planned.reason
            on_plan(planned)
        return _with_aliases(ours) if may_alias else ours

    return module_pass(run, opt_level=0, name="MemplanPlanMemory")


@dataclass
class _Made:
    """A function on memplan's plan, or as it was for a reason, and the bytes of its storages."""

    function: relax.Function
    lifetimes: Lifetimes
    planned: list[int]
    storages: list[Any] = field(default_factory=list)
    bound: int = 0
    may_alias: bool = False
    reason: str = ""

    @property
    def leaves_some(self) -> bool:
        """Return True if TVM's planner may place tensors that are left; with branches it must not.

        TVM 0.27 gives a storage of one branch to the other one, where nobody has allocated it (apache/tvm issue 20191).
        """
        attributes = self.function.attrs or {}
        has_some = self.lifetimes.leaves_some or "relax.memory_plan_dynamic_func_output" in attributes
        return has_some and not self.lifetimes.has_branches


@dataclass(frozen=True)
class _Planner:
    offsets: bool | None
    nests: bool
    pools: tuple[PoolInfo, ...]

    def plan(self, module: IRModule, lifetimes: Lifetimes) -> _Made:
        """Return a function on memplan's plan. Raises PlanMemoryError."""
        made = _Made(lifetimes.function, lifetimes, lifetimes.planned())
        groups: dict[tuple[int, str], list[int]] = {}
        for k in made.planned:
            groups.setdefault(lifetimes.tensors[k].place, []).append(k)
        rewriter = Rewriter()
        rewriter.require(lifetimes.bounds.limits)
        where: dict[int, tuple[Any, int, int]] = {}
        try:
            for place, group in groups.items():
                tensors = [lifetimes.tensors[k] for k in group]
                places = self._places(module, lifetimes, group)
                rewriter.place(tensors, places)
                made.storages += places.storages
                made.bound += places.bound
                for k, tensor, (storage, offset) in zip(group, tensors, places.of, strict=True):
                    where[k] = ((place, storage), offset, tensor.size or 0)
        except (UnreadableError, MemplanError) as error:
            made.reason = f"{UNREADABLE}{error}"
            return made
        made.may_alias = any(_share([where[k] for k in call if k in where]) for call in lifetimes.calls)
        if groups:
            made.function = rewriter.function(lifetimes.function)
        return made

    def _places(self, module: IRModule, lifetimes: Lifetimes, group: Sequence[int]) -> StoragePlaces:
        tensors = [lifetimes.tensors[k] for k in group]
        device, scope = tensors[0].place
        pools = [each for each in self.pools if (each.device, each.scope) == (device, scope)]
        has_offsets = _has_offsets(module, device) if self.offsets is None else self.offsets
        if pools and not has_offsets:
            raise UnreadableError(f"pointers of device {device} cannot be moved, and pools take offsets")
        if any(each.size is None for each in tensors):
            if pools or self.nests:
                raise UnreadableError(f"sizes without bounds do not go with {'pools' if pools else 'nests'}")
            if not has_offsets:
                raise UnreadableError(f"sizes without bounds on device {device}, whose pointers cannot be moved")
            return place_for_all(tensors, lifetimes.bounds)
        if not has_offsets:
            return place_whole(tensors)
        number = {k: place for place, k in enumerate(group)}
        pairs = [(number[i], number[j]) for i, j in lifetimes.in_place() if i in number and j in number]
        return place_in_pools(tensors, pools, pairs)


def _has_offsets(module: IRModule, device: int) -> bool:
    """Return True if pointers of a device, by its index, can be moved; -1 is the host."""
    if PassContext.current().config.get("relax.backend.use_cuda_graph"):
        return False  # RewriteCUDAGraph captures no call that moves a pointer
    devices = module.global_infos.get("vdevice") or []
    target = devices[device].target if 0 <= device < len(devices) else Target.current(allow_none=True)
    return device == -1 or (target is not None and target.kind.name in _ADDRESSED)


def _share(used: list[tuple[Any, int, int]]) -> bool:
    """Return True if two tensors in these storages, at these offsets, of these sizes have bytes in common."""
    rows = sorted(used, key=lambda row: (*row[0], row[1]))
    return any(one[0] == other[0] and other[1] < one[1] + one[2] for one, other in pairwise(rows))


def _with_aliases(module: IRModule) -> IRModule:
    """Return the module with kernels whose arguments may share bytes: all, as CodeGenLLVM has one word for a module."""
    for name, function in module.functions_items():
        if isinstance(function, tirx.PrimFunc):
            module.update_func(name, function.with_attr("tirx.noalias", False))
    return module


def _compared(name: str, made: _Made, own: relax.Function, ours: relax.Function, *, must: bool) -> PlannedFunction:
    """Return the bytes of both plans, and a reason where TVM's is as small, or memplan's is not below it everywhere."""
    lifetimes, symbols = made.lifetimes, Symbols(made.lifetimes.bounds)
    planned = {*made.planned}
    apart = [each.bytes for k, each in enumerate(lifetimes.tensors) if k not in planned]
    points = symbols.points() if lifetimes.bounds.symbols else [{}]
    totals = []
    for point in points:
        at = symbols.at(point)
        beside = sum(map(at, apart))
        after = sum(map(at, allocated(ours))) - beside if made.leaves_some else sum(map(at, made.storages))
        totals.append((sum(map(at, allocated(own))) - beside, after))
    is_less = all(after <= before for before, after in totals) and any(after < before for before, after in totals)
    reason = made.reason or ("" if is_less or must or lifetimes.has_branches else "memplan found no smaller one")
    names = [str(each.name) for each in lifetimes.bounds.symbols]
    values = dict(zip(names, points[0].values(), strict=True))
    return PlannedFunction(name, len(planned), *totals[0], made.bound, values, reason)


_STORAGE = Op.get("relax.memory.alloc_storage")


def allocated(function: relax.Function) -> list[Any]:
    """Return the bytes of what a planned function allocates, as expressions or numbers."""
    sizes: list[Any] = []
    for binding in bindings_of(function.body):
        value = binding.value
        if type(value) is not Call or type(value.op) is not Op:
            continue
        if value.op.same_as(_STORAGE):
            sizes.append(items(items(value.args)[0].values)[0])
        elif value.op.same_as(ALLOCATES) and type(value.args[0]) is relax.ShapeExpr:
            sizes.append(bytes_of(value.args[0], value.args[1].value))
    return sizes
