"""Rewrites a Relax function so that it first allocates storages and then places its tensors in them."""

from collections.abc import Sequence
from typing import Any

from tvm import relax, tirx
from tvm.relax.expr import _update_type
from tvm.relax.op.memory import _ffi_api, alloc_storage, ensure_zero_offset

from memplan.extensions.tvm.places import StoragePlaces
from memplan.extensions.tvm.tensors import AllocatedTensor, Bounds, Lifetimes, array_items


class Storages:
    """The storages of a function, and the tensors in them; the method `function` returns the rewritten function.

    Tensors with the same shape, type and offset in a storage are created only once in each call of the function.
    """

    def __init__(self) -> None:
        """Start with an empty block of bindings, for the allocations of storages."""
        self._builder = relax.BlockBuilder()
        self._builder._begin_binding_block()

    def add(self, tensors: Sequence[AllocatedTensor], places: StoragePlaces) -> None:
        """Allocate the storages of `places` on the tensors' common device, and place the tensors in them."""
        emit, (device, scope) = self._builder.emit, tensors[0].place
        storages = [
            emit(alloc_storage(relax.ShapeExpr([size]), device, scope, "uint8"), name)
            for name, size in zip(places.names, places.storages, strict=True)
        ]
        made: dict[Any, Any] = {}
        for tensor, (storage, offset) in zip(tensors, places.of, strict=True):
            binding = tensor.bindings[tensor.index]
            shape, dtype, runtime_device, _ = array_items(binding.value.args)
            key = (storage, offset, str(shape) if tensor.has_symbols else tensor.lengths, tensor.dtype)
            if (one := made.get(key)) is None:
                at = tirx.IntImm("int64", offset) if type(offset) is int else offset
                one = emit(_ffi_api.alloc_tensor(storages[storage], at, shape, dtype, runtime_device), "tensor")
                if type(offset) is not int or offset:
                    one = emit(ensure_zero_offset(one), "tensor")  # Kernels refuse offsets, so move the pointer.
                made[key] = one
            tensor.bindings[tensor.index] = relax.VarBinding(binding.var, one)

    def require_bounds(self, bounds: Bounds) -> None:
        """Make the virtual machine refuse symbol values above their bounds, at which tensors would overlap.

        If each tensor has its own storage, the allocation enforces the bound, but with offsets nothing else does.
        """
        above = [tirx.max(symbol - most, 0) for symbol, (_, most) in bounds.limits.items() if most is not None]
        if above:
            none = relax.ShapeType([0] * len(above))  # CanonicalizeBindings would replace symbols, so match zeros.
            shape = self._builder.emit(relax.ShapeExpr(above), "above_bounds")
            self._builder.match_cast(shape, none, "within_bounds")

    def function(self, lifetimes: Lifetimes) -> relax.Function:
        """Return the function to which the lifetimes belong, rewritten so that its tensors are in the storages."""
        function = lifetimes.function
        body = self._rewritten_body(function.body, lifetimes, [self._builder._end_block()])
        return relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)

    def _rewritten_body(self, body: Any, lifetimes: Lifetimes, head: Sequence[Any] = ()) -> Any:
        blocks = [*head]
        for block, bindings in lifetimes.blocks[body.__chandle__()]:
            if lifetimes.has_branches:
                bindings = [self._rewrite_branches(each, lifetimes) for each in bindings]
            blocks.append(type(block)(bindings))
        made = relax.SeqExpr(blocks, body.body)
        _update_type(made, body.ty)  # A new expression has no type yet, so copy the old body's type.
        return made

    def _rewrite_branches(self, binding: Any, lifetimes: Lifetimes) -> Any:
        choice = binding.value
        if type(choice) is not relax.If:
            return binding
        branches = (
            self._rewritten_body(choice.true_branch, lifetimes),
            self._rewritten_body(choice.false_branch, lifetimes),
        )
        return relax.VarBinding(binding.var, self._builder.normalize(relax.If(choice.cond, *branches)))
