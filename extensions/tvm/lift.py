"""A pass, to run before `CallTIRRewrite`, that makes the temporaries of kernels part of the memory plan.

A PrimFunc that allocates buffers requests a workspace from the runtime at each call. `LiftWorkspaces` turns these
buffers into additional outputs of the PrimFunc and of the `R.call_tir` that calls it, so the plan of the function
contains them.
"""

from collections.abc import Sequence
from typing import Any

from tvm import DataType, relax, s_tir, tirx
from tvm.ir import GlobalVar, IRModule, Op, Var
from tvm.ir.transform import PassContext, module_pass
from tvm.relax.expr_functor import PyExprMutator, mutator

from memplan.extensions.tvm.nests import root_of

LEAST_BYTES = 1024
"""The minimum size, in bytes, of a lifted temporary; TVM puts smaller temporaries on the stack (kMaxStackAlloca)."""
_CALL_TIR = Op.get("relax.call_tir")


def LiftWorkspaces() -> Any:  # noqa: N802  # TVM writes the names of passes in CamelCase.
    """Return the pass that turns kernels' temporaries into tensors of the calling function."""

    def run(module: IRModule, _: PassContext) -> IRModule:
        return _Lifter(module).lift()

    return module_pass(run, opt_level=0, name="MemplanLiftWorkspaces")


def temporaries(kernel: tirx.PrimFunc) -> list[Any]:
    """Return the buffers that a kernel allocates at its root in global memory, without those on the stack."""
    root = root_of(kernel)
    return [] if root is None else [each for each in root.alloc_buffers if _is_workspace(each)]


def _is_workspace(buffer: Any) -> bool:
    if buffer.scope() not in ("", "global") or buffer.strides:
        return False
    size = DataType(str(buffer.dtype)).itemsize
    for length in buffer.shape:
        if not isinstance(length, tirx.IntImm):
            return True  # The stack holds only buffers of known size, so lift this one.
        size *= int(length)
    return bool(size >= LEAST_BYTES)


def _lift_temporaries(kernel: tirx.PrimFunc, found: Sequence[Any], place: int) -> tirx.PrimFunc:
    root = root_of(kernel)
    kept = [each for each in root.alloc_buffers if not any(each.same_as(other) for other in found)]
    facts = (root.iter_vars, root.reads, root.writes, root.name_hint, root.body, root.init)
    block = s_tir.SBlock(*facts, kept, root.match_buffers, root.annotations)
    body = s_tir.SBlockRealize([], tirx.const(True, "bool"), block)
    params = [*kernel.params[:place], *found, *kernel.params[place:]]
    return tirx.PrimFunc(params, body, kernel.ret_type, kernel.attrs)


@mutator
class _Lifter(PyExprMutator):  # type: ignore[misc]  # TVM's base class has no type annotations.
    """A rewriter of calls: temporaries of the called kernels become additional outputs of the calls."""

    def __init__(self, module: IRModule) -> None:
        """Store the module, and start without rewritten kernels."""
        super().__init__(module)
        self._module = module
        self._made: dict[Any, Any] = {}

    def lift(self) -> IRModule:
        """Return the module in which every temporary of known size is a tensor of the calling function."""
        for name, function in self._module.functions_items():
            if isinstance(function, relax.Function):
                self.builder_.update_func(name, self.visit_expr(function))
        return relax.transform.DeadCodeElimination()(self.builder_.get()) if self._made else self._module

    def visit_call_(self, call: Any) -> Any:
        """Return a call with its temporaries as outputs, followed by the selection of the original results."""
        call = self.visit_expr_post_order(call)
        made = self._add_workspaces(call)
        if made is None:
            return call
        whole = self.builder_.emit(made, "with_workspaces")
        if not isinstance(call.ty, relax.TupleType):
            return relax.TupleGetItem(whole, 0)
        return relax.Tuple([self.builder_.emit(relax.TupleGetItem(whole, k)) for k in range(len(call.ty.fields))])

    def _add_workspaces(self, call: Any) -> Any:
        """Return a call with its kernel's temporaries as further outputs, or None if no temporary can become one."""
        if call.op != _CALL_TIR or not isinstance(call.args[1], relax.Tuple):
            return None
        name, inputs = call.args[0], call.args[1].fields
        kernel = self._module[name] if isinstance(name, GlobalVar) else None
        outputs = list(call.ty.fields) if isinstance(call.ty, relax.TupleType) else [call.ty]
        if not isinstance(kernel, tirx.PrimFunc) or not all(isinstance(each, relax.TensorType) for each in outputs):
            return None
        values = _symbol_values(kernel, [*inputs, *outputs], call.args[2:])
        types = {each: made for each in temporaries(kernel) if (made := _tensor_type(each, values)) is not None}
        if not types:
            return None
        key = (name, len(types))
        if key not in self._made:
            new = _lift_temporaries(kernel, [*types], len(inputs) + len(outputs))
            self._made[key] = self.builder_.add_func(new, f"{name.name_hint}_lifted")
        return relax.op.call_tir(self._made[key], call.args[1], [*outputs, *types.values()], *call.args[2:])


def _symbol_values(kernel: tirx.PrimFunc, arguments: Sequence[Any], symbols: Sequence[Any]) -> dict[Any, Any]:
    """Map each symbol of a kernel to its value in a call, taken from argument shapes or from explicit arguments."""
    values: dict[Any, Any] = {}
    given = [*arguments, *(symbols[0].values if symbols else ())]
    for parameter, argument in zip(kernel.params, given, strict=True):
        type_ = argument if isinstance(argument, relax.TensorType) else getattr(argument, "ty", None)
        if not hasattr(parameter, "shape"):
            values[parameter] = argument
        elif isinstance(type_, relax.TensorType) and isinstance(type_.shape, relax.ShapeExpr):
            pairs = zip(parameter.shape, type_.shape.values, strict=True)
            values |= {own: value for own, value in pairs if isinstance(own, Var)}
    return values


def _tensor_type(buffer: Any, values: dict[Any, Any]) -> Any:
    """Return the tensor type of a temporary, or None if a length is neither constant nor in `values`."""
    lengths = [length if isinstance(length, tirx.IntImm) else values.get(length) for length in buffer.shape]
    return None if any(each is None for each in lengths) else relax.TensorType(lengths, str(buffer.dtype))
