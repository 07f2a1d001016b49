"""A pass, to run before `ToNonDataflow`, that reorders the bindings of dataflow blocks to minimise memory.

Calls in a dataflow block are pure, so every order is legal in which each call follows the calls that make its inputs.
"""

from collections.abc import Sequence
from typing import Any

from tvm import relax
from tvm.ir import Call, IRModule, Op
from tvm.ir.transform import PassContext, module_pass

from memplan.extensions.tvm.places import ALIGNMENT
from memplan.extensions.tvm.tensors import VIEWS, Bounds, Value, Values, leaves_of, lengths_of
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import order

_IN_PLACE = Op.get("relax.call_tir_inplace")


def OrderBindings(time_limit_s: float = 10) -> Any:  # noqa: N802  # TVM writes the names of passes in CamelCase.
    """Return the pass that reorders a dataflow block if an order with a lower peak is found."""

    def run(module: IRModule, _: PassContext) -> IRModule:
        module = relax.transform.RewriteDataflowReshape()(module)
        for name, function in module.functions_items():
            if isinstance(function, relax.Function) and isinstance(function.body, relax.SeqExpr):
                module.update_func(name, _order_function(function, time_limit_s))
        return module

    return module_pass(run, opt_level=0, name="MemplanOrderBindings")


def _order_function(function: relax.Function, time_limit_s: float) -> relax.Function:
    """Return a function whose dataflow blocks are reordered where a lower peak is found."""
    bounds, returned, blocks = Bounds(function), _returned_variables(function), []
    options = OrderOptions(time_limit_s=time_limit_s, goal="placed", alignment=ALIGNMENT)
    for block in function.body.blocks:
        if isinstance(block, relax.DataflowBlock) and all(map(_is_pure, block.bindings)):
            found = _Block(block, bounds)
            answer = order(found.graph(returned), options) if len(found.operations) > 1 else None
            if answer and answer.peak < answer.given_peak:
                block = found.reorder(answer.order)
        blocks.append(block)
    body = relax.BlockBuilder().normalize(relax.SeqExpr(blocks, function.body.body))
    return relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)


def _returned_variables(function: relax.Function) -> set[Any]:
    returned = {*relax.analysis.free_vars(function.body.body)}
    for block in reversed(function.body.blocks):
        for binding in reversed(block.bindings):
            if binding.var in returned and not isinstance(binding.value, Call):
                returned |= {*relax.analysis.free_vars(binding.value)}
    return returned


class _Block(Values):
    """A dataflow block as a list of operations: each call is an operation, and all other bindings only name results."""

    def __init__(self, block: Any, bounds: Bounds) -> None:
        """Read the bindings of a block as operations; `bounds` gives the maximum values of symbols."""
        super().__init__()
        self.operations: list[tuple[Any, list[int], list[int]]] = []
        self._bindings, self._bounds, self._sizes = list(block.bindings), bounds, list[int]()
        for binding in self._bindings:
            is_call = isinstance(binding.value, Call)
            self.bind(binding.var, self._add_call(binding) if is_call else self.value_of(binding.value))

    def graph(self, returned: set[Any]) -> OperationGraph:
        """Return the graph of operations; returned tensors count 0 bytes, and tensors read outside stay alive."""
        resident = {k for variable in returned for k in leaves_of(self.value_of(variable))}
        outward = (each.var for each in self._bindings if not isinstance(each.var, relax.DataflowVar))
        kept = {k for variable in outward for k in leaves_of(self.value_of(variable))} - resident
        rows = [{"in": inputs, "out": outputs} for _, inputs, outputs in self.operations]
        content = {"size": self._sizes, "kept": sorted(kept), "resident": sorted(resident), "ops": rows}
        return OperationGraph.model_validate(content)

    def reorder(self, order: Sequence[int]) -> relax.DataflowBlock:
        """Return the block with its operations in this order, each followed by the bindings that name its results."""
        turn: dict[Any, int] = {self.operations[k][0]: place for place, k in enumerate(order)}
        is_call = {*turn}
        for binding in self._bindings:
            read = [turn[each] for each in relax.analysis.free_vars(binding.value) if each in turn]
            turn.setdefault(binding.var, max(read, default=-1))
        return relax.DataflowBlock(sorted(self._bindings, key=lambda each: (turn[each.var], each.var not in is_call)))

    def _add_call(self, binding: Any) -> Value:
        """Add a call as an operation with new tensors, and return these; a view returns the tensors of its source."""
        call = binding.value
        if call.op.__chandle__() in VIEWS:
            return self.value_of(call.args[0])
        read = {k for each in relax.analysis.free_vars(call) for k in leaves_of(self.value_of(each))}
        types = list(call.ty.fields) if isinstance(call.ty, relax.TupleType) else [call.ty]
        outputs = [*range(len(self._sizes), len(self._sizes) + len(types))]
        self._sizes += map(self._max_size, types)
        self.operations.append((binding.var, sorted(read), outputs))
        entries = tuple(frozenset({k}) for k in outputs)
        return entries if isinstance(call.ty, relax.TupleType) else entries[0]

    def _max_size(self, type_: Any) -> int:
        if not isinstance(type_, relax.TensorType) or not isinstance(type_.shape, relax.ShapeExpr):
            return 0
        return self._bounds.max_bytes(lengths_of(type_.shape), str(type_.dtype)) or 0


def _is_pure(binding: Any) -> bool:
    value = binding.value
    is_in_place = isinstance(value, Call) and value.op == _IN_PLACE
    return (
        isinstance(binding, relax.VarBinding) and not is_in_place and not isinstance(value, relax.If | relax.Function)
    )
