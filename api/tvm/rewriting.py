"""A Relax function whose tensors lie in storages, which are allocated before all else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm import relax, tirx
from tvm.relax.op.memory import alloc_storage, alloc_tensor, ensure_zero_offset

from memplan.api.tvm.lifetimes import AllocatedTensor, items
from memplan.api.tvm.places import StoragePlaces


class Rewriter:
    """Puts tensors into storages; `function` then returns a function that does so.

    Tensors of one shape and type at one offset are one: it is made once in a call of the function.
    """

    def __init__(self) -> None:
        self._builder = relax.BlockBuilder()
        self._head: list[Any] = []
        self._instead: dict[int, Any] = {}

    def place(self, tensors: Sequence[AllocatedTensor], places: StoragePlaces) -> None:
        """Allocate storages on the device of these tensors, which are of one place, and put them there."""
        device, scope = tensors[0].place
        storages = [
            self._bind(name, alloc_storage(relax.ShapeExpr([size]), device, scope, "uint8"))
            for name, size in zip(places.names, places.storages, strict=True)
        ]
        made: dict[Any, Any] = {}
        for tensor, (storage, offset) in zip(tensors, places.of, strict=True):
            shape, dtype = tensor.shape, tensor.dtype
            form = str(shape) if tensor.has_symbols else (*(length.value for length in items(shape.values)),)
            key = (storage, offset, form, dtype)
            if key not in made:
                made[key] = self._bind("tensor", alloc_tensor(storages[storage], offset, shape, dtype, device))
                if not isinstance(offset, (int, tirx.IntImm)) or int(offset):
                    made[key] = self._bind("tensor", ensure_zero_offset(made[key]))  # kernels refuse other ones
            self._instead[tensor.variable.__chandle__()] = made[key]

    def require(self, limits: Mapping[Any, tuple[int, int | None]]) -> None:
        """Have the machine refuse symbols above their limits, which would write beyond what was planned for a tensor.

        A storage of its own for each tensor is its own limit; offsets are none.
        """
        above = [tirx.max(symbol - most, 0) for symbol, (_, most) in limits.items() if most is not None]
        if above:
            none = relax.ShapeType([0] * len(above))  # no symbols: CanonicalizeBindings would replace them
            shape = self._bind("above_bounds", relax.ShapeExpr(above))
            self._head.append(relax.MatchCast(relax.Var("within_bounds", none), shape, none))

    def _bind(self, name: str, value: Any) -> Any:
        value = self._builder.normalize(value)
        variable = relax.Var(name, value.ty)
        self._head.append(relax.VarBinding(variable, value))
        return variable

    def function(self, function: relax.Function) -> relax.Function:
        """Return a function with its tensors where they were placed."""
        body = self._body(function.body)
        body = relax.SeqExpr([relax.BindingBlock(self._head), *body.blocks], body.body)
        return relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)

    def _body(self, body: Any) -> Any:
        blocks = []
        for block in items(body.blocks):
            blocks.append(type(block)([self._binding(each) for each in items(block.bindings)]))
        return self._builder.normalize(relax.SeqExpr(blocks, body.body))

    def _binding(self, binding: Any) -> Any:
        instead = self._instead.get(binding.var.__chandle__())
        if instead is not None:
            return relax.VarBinding(binding.var, instead)
        if type(binding.value) is relax.If:
            choice = binding.value
            branches = self._body(choice.true_branch), self._body(choice.false_branch)
            return relax.VarBinding(binding.var, self._builder.normalize(relax.If(choice.cond, *branches)))
        return binding
