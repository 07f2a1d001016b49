"""A Relax function whose tensors lie in storages, which are allocated before all else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tvm import relax
from tvm.relax.op.memory import alloc_storage, alloc_tensor, ensure_zero_offset

from memplan.api.tvm.lifetimes import Tensor
from memplan.api.tvm.places import Places


class Rewriter:
    """Puts tensors into storages; `function` then returns a function that does so."""

    def __init__(self) -> None:
        self._builder = relax.BlockBuilder()
        self._head: list[Any] = []
        self._places: dict[Any, tuple[Any, int]] = {}

    def place(self, tensors: Sequence[Tensor], places: Places) -> None:
        """Allocate storages on the device of these tensors, and put them there."""
        device, scope = tensors[0].device, tensors[0].scope
        storages = [
            self._bind("storage", alloc_storage(relax.ShapeExpr([size]), device, scope, "uint8"))
            for size in places.storages
        ]
        guarded: set[str] = set()
        for tensor, (storage, offset) in zip(tensors, places.of, strict=True):
            self._places[tensor.binding.var] = storages[storage], offset
            if tensor.symbols and str(tensor.binding.value.args[0]) not in guarded:
                guarded.add(str(tensor.binding.value.args[0]))
                self._guard(tensor, storages[storage], places.storages[storage])

    def _guard(self, tensor: Tensor, storage: Any, size: int) -> None:
        """Have the runtime refuse a shape above its bound, as it does where each tensor has a storage of its own.

        A tensor of that shape at the end of the storage: the runtime raises what does not fit into a storage.
        """
        shape, dtype, device, _ = tensor.binding.value.args
        self._bind("within_bound", alloc_tensor(storage, size - tensor.size, shape, dtype, device))

    def _bind(self, name: str, call: Any) -> Any:
        call = self._builder.normalize(call)
        variable = relax.Var(name, call.ty)
        self._head.append(relax.VarBinding(variable, call))
        return variable

    def function(self, function: relax.Function) -> relax.Function:
        """Return a function with its tensors where they were placed."""
        body = self._body(function.body)
        body = relax.SeqExpr([relax.BindingBlock(self._head), *body.blocks], body.body)
        return relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)

    def _body(self, body: Any) -> Any:
        if not isinstance(body, relax.SeqExpr):
            return body
        blocks = [
            type(block)([made for each in block.bindings for made in self._bindings(each)]) for block in body.blocks
        ]
        return self._builder.normalize(relax.SeqExpr(blocks, body.body))

    def _bindings(self, binding: Any) -> Iterator[Any]:
        place = self._places.get(binding.var)
        value = binding.value
        if place is not None:
            storage, offset = place
            shape, dtype, device, _ = value.args
            call = self._builder.normalize(alloc_tensor(storage, offset, shape, dtype, device))
            if offset:
                inside = relax.Var("inside", call.ty)
                yield relax.VarBinding(inside, call)
                call = self._builder.normalize(ensure_zero_offset(inside))
            yield relax.VarBinding(binding.var, call)
        elif isinstance(value, relax.If):
            branches = self._body(value.true_branch), self._body(value.false_branch)
            yield relax.VarBinding(binding.var, self._builder.normalize(relax.If(value.cond, *branches)))
        else:
            yield binding
