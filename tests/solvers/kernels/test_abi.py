"""What `abi.py` assumes of numba and llvmlite, one test each: a new version that breaks one says which."""

from __future__ import annotations

import ctypes
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from llvmlite import binding
from numba import njit, types
from numba.core.registry import cpu_target
from numba.np import arrayobj

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels import abi
from memplan.solvers.kernels.abi import Reference
from memplan.solvers.kernels.tables import ARRAYS, Rows, step
from tests.support.linked import linked


class Pair(NamedTuple):
    column: I64
    number: int
    rows: Rows
    factor: float


def pair(number: int = 5) -> Pair:
    return Pair(np.array([7, 8, 9]), number, np.arange(6).reshape(2, 3), 0.5)


@step
def last_of(table: Pair) -> int:
    last: int = table.column[2]
    return last


def quotient(left: Pair, right: Pair) -> int:
    left.column[0] = last_of(right)
    return left.number // right.number


def with_private_options(function: Any) -> Any:
    return njit(nogil=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def compiled_alone(function: Any, *kinds: Any) -> Any:
    dispatcher = with_private_options(function)
    dispatcher.compile(types.int64(*kinds))
    (result,) = dispatcher.overloads.values()
    return result


def test_the_versions_are_those_that_the_caps_allow() -> None:
    for name, cap in (("numba", (0, 69)), ("llvmlite", (0, 51))):
        version = tuple(map(int, metadata.version(name).split(".")[:2]))
        assert version < cap, f"{name} {version} is newer than the newest that was tested"


@pytest.mark.parametrize(("dtype", "axes"), ARRAYS.values())
def test_numba_lays_an_array_out_as_seven_words_or_more(dtype: np.dtype[Any], axes: int) -> None:
    kind = types.Array(numba.from_dtype(dtype), axes, "C")
    model = cpu_target.target_context.data_model_manager[kind]
    assert list(model._fields) == ["meminfo", "parent", "nitems", "itemsize", "data", "shape", "strides"]
    assert [str(part) for part in model.get_value_type().elements[:4]] == ["i8*", "i8*", "i64", "i64"]
    assert str(model.get_value_type().elements[5]) == str(model.get_value_type().elements[6]) == f"[{axes} x i64]"


def test_a_named_tuple_is_its_fields_one_after_the_other() -> None:
    context = cpu_target.target_context
    table = types.NamedTuple([types.Array(types.int64, 1, "C"), types.int64, types.float64], Pair)
    kind = context.data_model_manager[table].get_value_type()
    assert [context.get_abi_sizeof(part) for part in kind.elements] == [56, 8, 8]
    assert context.get_abi_sizeof(kind) == 72


def test_a_reference_is_laid_out_like_that() -> None:
    table = pair()
    laid_out = Reference(table)
    words = ctypes.cast(laid_out.address, ctypes.POINTER(ctypes.c_int64))[:18]
    assert words[2:4] == [3, 8]
    assert words[4] == table.column.ctypes.data
    assert words[5:8] == [3, 8, 5]
    assert words[10:12] == [6, 8]
    assert words[13:17] == [2, 3, 24, 8]
    assert np.array(words[17:18]).view(np.float64)[0] == 0.5


@pytest.mark.parametrize(
    "made", [np.arange(5), np.zeros(0), np.arange(6).reshape(2, 3)[1:], np.frombuffer(b"12345678")]
)
def test_an_array_has_the_address_of_its_data_behind_the_header_of_all_objects(made: np.ndarray[Any, Any]) -> None:
    assert (ctypes.c_void_p.from_address(id(made) + abi._DATA).value or 0) == made.ctypes.data


def test_a_pointer_to_a_table_is_one_argument_whose_fields_can_be_read() -> None:
    def number(table: Any) -> Any:
        return table.number

    kind = abi._pointer_type()(abi._tuple(Pair))
    assert len(compiled_alone(number, kind).fndesc.argtypes) == 1


def test_the_options_of_the_compiler_are_there() -> None:
    def one(number: int) -> int:
        return number + 1

    result = compiled_alone(one, types.int64)
    assert not result.library.has_dynamic_globals
    assert "NRT_" not in result.library.get_llvm_str()


def test_a_kernel_is_called_with_where_its_result_and_its_error_go(tmp_path: Path) -> None:
    call = linked(quotient, tmp_path)
    left, right, zero = Reference(pair(-11)), Reference(pair(2)), Reference(pair(0))
    assert call(left, right) == -6
    assert left.table.column.tolist() == [9, 8, 9]
    with pytest.raises(RuntimeError, match="quotient: a division by zero"):
        call(left, zero)


def test_the_object_file_is_whole_and_its_entry_is_named() -> None:
    code, entry = abi.compiled(quotient, "generic")
    file = binding.ObjectFileRef.from_data(code)
    assert any(section.is_text() for section in file.sections())
    assert entry.encode() in code
    assert b"PyErr_" not in code


def test_steps_are_compiled_with_the_kernel_that_calls_them() -> None:
    dispatchers: dict[Any, Any] = {}
    abi._jitted(quotient, dispatchers)
    assert set(dispatchers) == {quotient, last_of}


def test_negative_indices_are_tested_by_one_function_that_can_be_replaced() -> None:
    def at(column: Any, index: int) -> Any:
        return column[index]

    usual = arrayobj.fix_integer_index
    kinds = types.Array(types.int64, 1, "C"), types.int64
    tested = compiled_alone(at, *kinds).library.get_llvm_str()
    with abi._no_index_from_the_end():
        untested = compiled_alone(at, *kinds).library.get_llvm_str()
    assert arrayobj.fix_integer_index is usual
    assert "icmp slt" in tested or "ashr" in tested
    assert "icmp slt" not in untested
    assert "ashr" not in untested
