"""The pass `PlanMemory`, which plans the memory of a module and replaces TVM's StaticPlanBlockMemory."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import relax, tirx
from tvm.ir import Call, IRModule, Op
from tvm.ir.transform import PassContext, module_pass
from tvm.target import Target

from memplan.extensions.tvm.places import PoolInfo, StoragePlaces, place_in_pools, place_whole
from memplan.extensions.tvm.storages import Storages
from memplan.extensions.tvm.symbolic import Symbols, UnreadableError, place_for_all
from memplan.extensions.tvm.tensors import ALLOCATES, Lifetimes, array_items, bytes_of, lengths_of
from memplan.planner.errors import MemplanError

log = logging.getLogger("memplan.tvm")
_OwnPass: Callable[[], Any] = relax.transform.StaticPlanBlockMemory
_STORAGE = Op.get("relax.memory.alloc_storage").__chandle__()
_ADDRESSED = {"llvm", "c", "cuda", "hexagon"}
"""The targets on which device pointers can be moved by an offset; on others, `ensure_zero_offset` makes a copy."""
UNREADABLE = "it cannot be read: "


@dataclass(frozen=True)
class PlannedFunction:
    """The bytes of a function's storages with TVM's plan and with memplan's plan, and a lower bound.

    Bytes are those at the symbol values `at`. `reason` says why TVM's plan is kept; it is empty if memplan's is used.
    `triples` lists (index of the tensor in order of allocation, name of its storage, offset) for memplan's plan.
    """

    name: str
    tensors: int
    own: int
    memplan: int
    bound: int
    at: Mapping[str, int]
    reason: str = ""
    triples: tuple[tuple[int, str, Any], ...] = ()

    def __str__(self) -> str:
        """Return one line of text: the bytes of both plans or, if TVM's plan is kept, the reason."""
        where = "".join(f", {name} = {value}" for name, value in self.at.items())
        text = f"{self.name}{where}: {self.tensors} tensors, {self.own:,} bytes by TVM, "
        return text + (f"whose plan is kept: {self.reason}" if self.reason else f"{self.memplan:,} by memplan")


def _log_function(planned: PlannedFunction) -> None:
    log.log(logging.WARNING if planned.reason.startswith(UNREADABLE) else logging.INFO, "%s", planned)


def PlanMemory(  # noqa: N802  # TVM writes the names of passes in CamelCase.
    *,
    pools: Sequence[PoolInfo] = (),
    offsets: bool | None = None,
    nests: bool = False,
    on_plan: Callable[[PlannedFunction], None] = _log_function,
) -> Any:
    """Return the pass that plans all tensors of a function together, in one storage per device.

    The pass replaces StaticPlanBlockMemory and never needs more bytes: TVM's plan for a function is kept if it is as
    small, or if the pass cannot read the function. `pools` are storages of limited size, which are used instead of a
    growing storage; PlanMemoryError is raised if a function does not fit. `offsets` allows tensors at offsets other
    than 0; by default, if the device's pointers can be moved. With `nests`, a tensor is alive only during the loop
    nests of a kernel that use it, not during the whole call. `on_plan` is called with each planned function; by
    default, it logs.
    """

    def run(module: IRModule, _: PassContext) -> IRModule:
        """Return the module in which each function has the smaller of both plans, and report each planned function."""
        own, ours, functions = _OwnPass()(module), module.clone(), module.functions_items()
        kernels = {name for name, each in functions if isinstance(each, tirx.PrimFunc)}
        made = {}
        for name, function in functions:
            if isinstance(function, relax.Function):
                lifetimes = Lifetimes(module, function, kernels, nests=nests)
                made[name] = _PlannedBody(module, lifetimes, pools, offsets)
                ours[name] = made[name].function
        if any(each.has_unplanned_tensors for each in made.values()):
            ours = _OwnPass()(ours)
        is_nested = False
        for name, each in made.items():
            planned = each.compare_plans(name.name_hint, own[name], ours[name])
            if planned.reason:
                ours[name] = own[name]
            is_nested |= nests and not planned.reason
            on_plan(planned)
        for name in kernels if is_nested else ():  # CodeGenLLVM has one setting per module, so set it in each kernel.
            ours.update_func(name, ours[name].with_attr("tirx.noalias", False))
        return ours

    return module_pass(run, opt_level=0, name="MemplanPlanMemory")


class _PlannedBody:
    """The planned form of a function and its storages' bytes, or the reason why the function is unchanged."""

    def __init__(self, module: IRModule, lifetimes: Lifetimes, pools: Sequence[PoolInfo], offsets: bool | None) -> None:
        """Plan the function to which the lifetimes belong. Raises PlanMemoryError if it does not fit into the pools."""
        self.function, self._lifetimes, self._pools = lifetimes.function, lifetimes, pools
        self._storages, self._bound, self._reason = list[Any](), 0, ""
        self._triples: list[tuple[int, str, Any]] = []
        try:
            if lifetimes.earlier:
                raise UnreadableError(f"R.{lifetimes.earlier} is in the function, so CallTIRRewrite has not run yet")
            storages = Storages()
            if lifetimes.has_symbols:
                storages.require_bounds(lifetimes.bounds)
            for (device, scope), group in lifetimes.planned_groups().items():
                tensors = [lifetimes.tensors[k] for k in group]
                places = self._place_group(
                    device, scope, group, _has_offsets(module, device) if offsets is None else offsets
                )
                storages.add(tensors, places)
                self._storages += places.storages
                self._bound += places.bound
                self._triples += [(k, places.names[at[0]], at[1]) for k, at in zip(group, places.of, strict=True)]
            if self._triples:
                self.function = storages.function(lifetimes)
        except (UnreadableError, MemplanError) as error:
            self._reason = f"{UNREADABLE}{error}"

    def _place_group(self, device: int, scope: str, group: Sequence[int], has_offsets: bool) -> StoragePlaces:
        """Return the storages and offsets of the tensors `group` in the memory (device, scope)."""
        tensors = [self._lifetimes.tensors[k] for k in group]
        pools = [each for each in self._pools if (each.device, each.scope) == (device, scope)]
        if pools and not has_offsets:
            raise UnreadableError(f"pools require offsets, but pointers of device {device} cannot be moved")
        if any(each.size is None for each in tensors):
            if pools or self._lifetimes.nests:
                raise UnreadableError(f"sizes without bounds cannot be combined with {'pools' if pools else 'nests'}")
            if not has_offsets:
                raise UnreadableError(f"sizes have no bounds, and pointers of device {device} cannot be moved")
            return place_for_all(tensors, self._lifetimes.bounds)
        return (
            place_in_pools(tensors, pools, self._lifetimes.overwrite_pairs(group))
            if has_offsets
            else place_whole(tensors)
        )

    @property
    def has_unplanned_tensors(self) -> bool:
        """True if TVM's planner may plan the tensors that remain, which requires a function without branches."""
        attributes = self.function.attrs or {}
        has_some = self._lifetimes.leaves_some or "relax.memory_plan_dynamic_func_output" in attributes
        return has_some and not self._lifetimes.has_branches

    def compare_plans(self, name: str, own: relax.Function, ours: relax.Function) -> PlannedFunction:
        """Return the bytes of both plans, and the reason if TVM's plan is kept, for example if memplan's is larger."""
        lifetimes = self._lifetimes
        symbols = Symbols(lifetimes.bounds) if lifetimes.has_symbols else None
        apart = [each.bytes for each in lifetimes.tensors if not each.is_planned]
        sizes = (
            allocation_sizes(own),
            allocation_sizes(ours) if self.has_unplanned_tensors else [*self._storages, *apart],
        )
        points, totals = symbols.points() if symbols else [{}], []
        for point in points:
            at = symbols.evaluator(point) if symbols else int
            before, after, beside = (sum(map(at, each)) for each in (*sizes, apart))
            totals.append((before - beside, after - beside))
        is_less = all(after <= before for before, after in totals) and any(after < before for before, after in totals)
        is_taken = is_less or self._pools or lifetimes.has_branches
        reason = self._reason or ("" if is_taken else "memplan found no smaller one")
        names = [each.name for each in lifetimes.bounds.limits] if symbols else []
        values = dict(zip(names, points[0].values(), strict=True))
        count = sum(each.is_planned for each in lifetimes.tensors)
        return PlannedFunction(name, count, *totals[0], self._bound, values, reason, tuple(self._triples))


def _has_offsets(module: IRModule, device: int) -> bool:
    if PassContext.current().config.get("relax.backend.use_cuda_graph"):
        return False  # RewriteCUDAGraph cannot capture calls that move a pointer, so plan without offsets.
    devices = module.global_infos.get("vdevice") or []
    target = devices[device].target if 0 <= device < len(devices) else Target.current(allow_none=True)
    return device == -1 or (target is not None and target.kind.name in _ADDRESSED)


def allocation_sizes(function: relax.Function) -> list[Any]:
    """Return the sizes of a planned function's allocations in bytes, each a number or an expression."""
    sizes, bodies = [], [function.body]
    while bodies:
        body = bodies.pop()
        for block in array_items(body.blocks) if type(body) is relax.SeqExpr else ():
            for binding in array_items(block.bindings):
                value = binding.value
                if type(value) is Call:
                    handle = value.op.__chandle__()
                    if handle == _STORAGE:
                        sizes += lengths_of(value.args[0])
                    elif handle == ALLOCATES and type(value.args[0]) is relax.ShapeExpr:
                        sizes.append(bytes_of(lengths_of(value.args[0]), value.args[1].value))
                elif type(value) is relax.If:
                    bodies += [value.true_branch, value.false_branch]
    return sizes
