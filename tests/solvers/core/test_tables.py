"""Tables for kernels: their layout, refused values, and the same names in C++; unchanged sources stay compiled."""

import ctypes
import re
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import pytest

from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.build import HERE, build, folders, is_built, library_of
from memplan.solvers.core.tables import F64, U32, Flags, Reference, Rows

FOLDERS = [(HERE.parents[1], folder) for folder in folders(HERE.parents[1])]
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
KINDS = {I64: "Array<i64>", U32: "Array<u32>", Flags: "Array<bool>", F64: "Array<double>", Rows: "Rows<i64>"}
NUMBERS = {int: "i64", bool: "i64", float: "double"}


def tables() -> dict[str, type[NamedTuple]]:
    found: dict[str, type[NamedTuple]] = {}
    for package, folder in FOLDERS:
        for file in folder.glob("*.py"):
            module = import_module(".".join((package.name, *file.relative_to(package).with_suffix("").parts)))
            own = (value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__)
            found |= {value.__name__: value for value in own if hasattr(value, "_fields")}
    del found["Limits"]  # fields of PlainTask, for callers
    return found


def structs() -> dict[str, list[tuple[str, str]]]:
    """Return the fields (type, name) of the structs in all C++ sources, by struct name."""
    text = "\n".join(path.read_text() for _, folder in FOLDERS for path in sorted(folder.glob("*.[ch]pp")))
    line = re.compile(r"^  ([\w<>]+) (\w+(?:, \w+)*);", re.MULTILINE)
    lines = {name: line.findall(body) for name, body in STRUCT.findall(text)}
    plain = {
        name: [(kind, field) for kind, fields in body for field in fields.split(", ")] for name, body in lines.items()
    }
    return {name: [each for field in body for each in members_of(field, plain)] for name, body in plain.items()}


def members_of(field: tuple[str, str], plain: dict[str, list[tuple[str, str]]]) -> list[tuple[str, str]]:
    """Return the fields of a field that is a struct itself, named after both; or else the field."""
    kind, name = field
    return [(inner, f"{name}_{part}") for inner, part in plain[kind]] if kind in plain else [field]


@pytest.mark.parametrize("name", sorted(tables()))
def test_a_kernel_table_has_the_fields_of_its_c_struct_in_the_same_order(name: str) -> None:
    hints = get_type_hints(tables()[name], include_extras=True)
    mine = [((KINDS | NUMBERS)[hint], field) for field, hint in hints.items()]
    others = [(kind.replace("u64", "i64"), field) for kind, field in structs()[name]]  # hashes are unsigned there
    assert mine == others


class AllKinds(NamedTuple):
    column: I64
    number: int
    rows: Rows
    factor: float
    marks: Flags
    is_on: bool
    weights: F64
    small: U32


def make_table(**changed: Any) -> AllKinds:
    table = AllKinds(
        column=np.array([3, 2**61]),
        number=-7,
        rows=np.arange(6).reshape(2, 3),
        factor=1.25,
        marks=np.array([True, False]),
        is_on=True,
        weights=np.array([0.0, 0.0, -0.125]),
        small=np.array([1, 2**32 - 1], dtype=np.uint32),
    )
    return table._replace(**changed)


def words_of(laid_out: Reference[AllKinds]) -> list[int]:
    return ctypes.cast(laid_out.address, ctypes.POINTER(ctypes.c_int64))[:14]


@pytest.mark.parametrize("is_frozen", [False, True])
def test_a_kernel_table_stores_arrays_as_address_and_shape_and_numbers_as_one_word(is_frozen: bool) -> None:
    table = make_table()
    table.rows.setflags(write=not is_frozen)
    words = words_of(Reference(table))
    assert (words[:3], words[3:6]) == ([table.column.ctypes.data, 2, -7], [table.rows.ctypes.data, 2, 3])
    assert np.array(words[6:7]).view(np.float64)[0] == 1.25
    assert words[7:11] == [table.marks.ctypes.data, 2, 1, table.weights.ctypes.data]


def test_a_kernel_table_stores_an_empty_array_with_length_zero() -> None:
    assert words_of(Reference(make_table(column=np.zeros(0, dtype=np.int64))))[1] == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"column": np.zeros(2, dtype=np.int32)},
        {"column": np.zeros((2, 2), dtype=np.int64)},
        {"column": np.zeros(4, dtype=np.int64)[::2]},
        {"rows": np.zeros((2, 2), dtype=np.int64).T[:1]},
        {"weights": np.zeros(2, dtype=np.int64)},
    ],
    ids=["narrow", "an axis too many", "gaps", "other order", "no floats"],
)
def test_a_kernel_table_refuses_arrays_of_another_type_or_layout(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="AllKinds: arrays must be contiguous"):
        Reference(make_table(**changed))


@pytest.mark.parametrize("number", [2**63, 7.0], ids=["too large", "no int"])
def test_a_kernel_table_refuses_numbers_that_are_not_64_bit_integers(number: float) -> None:
    with pytest.raises(ValueError, match="AllKinds: numbers must fit into int64"):
        Reference(make_table(number=number))


def objects(folder: Path) -> dict[str, int]:
    """Return the modification time of each object file (ns), by its stem."""
    return {file.stem: file.stat().st_mtime_ns for file in folder.glob("built/objects/*.o")}


def test_the_build_recompiles_only_sources_that_include_a_changed_header(tmp_path: Path) -> None:
    folder = tmp_path / "a package" / "core"
    folder.mkdir(parents=True)
    (folder / "size.hpp").write_text("constexpr int kSize = 3;\n")
    (folder / "of size.cpp").write_text('#include "size.hpp"\nint size() { return kSize; }\n')
    (folder / "alone.cpp").write_text("int alone() { return 1; }\n")
    build(folder.parent)
    first, library = objects(folder), library_of(folder).read_bytes()
    assert is_built(folder)

    (folder / "size.hpp").write_text("constexpr int kSize = 4;\n")
    assert not is_built(folder)
    build(folder.parent)
    again = objects(folder)
    assert again["of size"] > first["of size"]
    assert again["alone"] == first["alone"]

    (folder / "size.hpp").write_text("constexpr int kSize = 3;\n")
    build(folder.parent)
    assert library_of(folder).read_bytes() == library
    build(folder.parent, flags=("-std=c++20", "-O0"))
    assert objects(folder)["alone"] > again["alone"]
