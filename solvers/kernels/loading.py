"""Load the machine code of a kernel: what is kept of it, or what numba makes of it here and now."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import CFUNCTYPE, byref, c_int32, c_int64, c_void_p
from pathlib import Path

from memplan.solvers.kernels import cache

Function = Callable[..., int]


def load(function: Function) -> Function:
    """Return a kernel as a function of the addresses of its tables."""
    import llvmlite.binding as llvm  # takes a moment, and 30 MB

    code, entry = _kept(function.__name__) or _compiled(function)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    linker = llvm.create_lljit_compiler(llvm.Target.from_default_triple().create_target_machine(jit=True))
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(entry)
    linked = library.link(linker, function.__name__)
    n_tables = function.__code__.co_argcount
    run = CFUNCTYPE(c_int32, c_void_p, c_void_p, *(c_void_p,) * n_tables)(linked[entry])

    def call(*tables: int) -> int:
        result, error = c_int64(), c_void_p()
        if run(byref(result), byref(error), *tables) != 0:
            raise RuntimeError(f"{function.__name__}: a division by zero, or an index out of bounds")
        return result.value

    call.linked = linked  # type: ignore[attr-defined]  # the code is there as long as that is
    return call


def keep(function: Function, folder: Path) -> None:
    """Compile a kernel and keep its machine code in a folder."""
    code, entry = _compiled(function)
    (folder / f"{function.__name__}.o").write_bytes(code)
    (folder / f"{function.__name__}.entry").write_text(entry)


def _kept(name: str) -> tuple[bytes, str] | None:
    """Return what is kept of a kernel; None where nothing is, or not what was."""
    code, entry = (cache.read(f"{name}.{kind}") for kind in ("o", "entry"))
    return None if code is None or entry is None else (code, entry.decode())


def _compiled(function: Function) -> tuple[bytes, str]:
    from memplan.solvers.kernels.compiling import compiled  # imports numba, which is slow

    return compiled(function)
