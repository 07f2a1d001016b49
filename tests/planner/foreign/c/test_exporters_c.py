"""Exported C and linker scripts are compiled and linked for this machine and a Cortex-M; addresses must match."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.errors import FormatError, PlanError
from memplan.planner.foreign.c_names import identifiers, prefix_of
from memplan.planner.foreign.layout import VerifiedLayout
from memplan.planner.foreign.writing import export
from memplan.planner.model.problem_fields import Pool
from tests.support.elf import Elf
from tests.support.layouts import (
    NAMES,
    PLACES,
    TWO_MEMORIES,
    layout_of,
    single_pool_layout,
    two_memories,
    two_memories_anywhere,
)

STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]
BASES = {"sram-1": 0x20000000, "int": 0x30000010}
COMPILERS = [
    pytest.param(
        [name, *options], marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"needs {name}"), id=name
    )
    for name, options in (("gcc", ["-fno-pie"]), ("arm-none-eabi-gcc", ["-mcpu=cortex-m4", "-mthumb"]))
]
SCRIPT = """\
ENTRY(start)
MEMORY { code : ORIGIN = 0x10000, LENGTH = 64K }
SECTIONS { .text : { *(.text*) *(.rodata*) *(.data*) } > code }
INCLUDE plan.ld
SECTIONS { .bss : { *(.bss*) } > code /DISCARD/ : { *(*) } }
"""


def run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def write_files(layout: VerifiedLayout, target: str, folder: Path, name: str) -> None:
    """Write the files of an exporter; the file without a suffix is named `name`."""
    path = folder / name
    for suffix, data in export(target, layout, path.stem).items():
        (path.with_suffix(suffix) if suffix else path).write_bytes(data)


def link(compiler: Sequence[str], folder: Path, names: Sequence[str], *options: str) -> Elf:
    pointers = "".join(f"extern unsigned char *const at_{k};\n" for k in range(len(names)))
    pointers += "".join(f"unsigned char *const at_{k} = PLAN_ADDRESS_{name};\n" for k, name in enumerate(names))
    (folder / "program.c").write_text(f'#include "plan.h"\n{pointers}void start(void);\nvoid start(void) {{}}\n')
    for unit in ("plan", "program"):
        run(*compiler, *STRICT, "-c", folder / f"{unit}.c", "-o", folder / f"{unit}.o")
    objects = [folder / "plan.o", folder / "program.o"]
    target = folder / "linked.elf"
    run(*compiler, *objects, "-nostdlib", "-static", "-no-pie", f"-L{folder}", *options, "-o", target)
    return Elf(target.read_bytes())


@pytest.mark.parametrize("compiler", COMPILERS)
def test_compiled_c_code_places_every_buffer_at_its_offset_in_its_array(compiler: list[str], tmp_path: Path) -> None:
    layout = two_memories_anywhere()
    write_files(layout, "c", tmp_path, "plan.c")
    elf = link(compiler, tmp_path, [buffer.name for buffer in layout.buffers], "-Wl,-e,start")
    arrays = [elf.symbols[f"plan_pool_{pool.name}"] for pool in layout.pools]
    for k, buffer in enumerate(layout.buffers):
        address = elf.pointer(f"at_{k}")
        assert address - arrays[buffer.pool] == buffer.offset
        assert address % buffer.alignment == 0


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_linker_script_places_every_buffer_at_its_planned_address(compiler: list[str], tmp_path: Path) -> None:
    layout = two_memories()
    write_files(layout, "c", tmp_path, "plan.c")
    write_files(layout, "ld", tmp_path, "plan.ld")
    (tmp_path / "whole.ld").write_text(SCRIPT)
    elf = link(compiler, tmp_path, list(NAMES.values()), f"-Wl,-T,{tmp_path / 'whole.ld'}")
    for k, (name, (pool, offset)) in enumerate(PLACES.items()):
        address = BASES[pool] + offset
        assert (elf.pointer(f"at_{k}"), elf.symbols[f"plan_buffer_{NAMES[name]}"]) == (address, address)
    assert elf.symbols["plan_pool_sram_1"] == BASES["sram-1"]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_linker_script_without_c_source_reserves_the_bytes_of_the_pools(compiler: list[str], tmp_path: Path) -> None:
    write_files(two_memories(), "ld", tmp_path, "plan.ld")
    (tmp_path / "whole.ld").write_text(SCRIPT)
    (tmp_path / "program.c").write_text(
        "extern unsigned char plan_pool_int[]; unsigned char *start(void) { return plan_pool_int; }"
    )
    target = tmp_path / "linked.elf"
    options = ["-nostdlib", "-static", "-no-pie", f"-L{tmp_path}", f"-Wl,-T,{tmp_path / 'whole.ld'}"]
    run(*compiler, tmp_path / "program.c", *options, "-o", target)
    elf = Elf(target.read_bytes())
    assert elf.symbols["plan_pool_int"] == BASES["int"]
    assert (BASES["int"], 116) in [(section.address, section.size) for section in elf.sections]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_a_c_source_with_changed_offsets_does_not_compile(tmp_path: Path) -> None:
    write_files(single_pool_layout({"alignment": 16}), "c", tmp_path, "plan.c")
    header = tmp_path / "plan.h"
    header.write_text(header.read_text().replace("PLAN_OFFSET_0 0u", "PLAN_OFFSET_0 8u"))
    done = subprocess.run(["gcc", "-c", tmp_path / "plan.c", "-o", tmp_path / "o"], capture_output=True, check=False)
    assert b"static assertion failed" in done.stderr


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("rows", [(), ({"size": 0},), ({"size": 0, "offset": 100}, {"size": 5})])
def test_c_sources_of_zero_size_buffers_compile(rows: tuple[dict[str, int], ...], tmp_path: Path) -> None:
    for target in ("c", "malloc-c"):
        write_files(single_pool_layout(*rows), target, tmp_path, "plan.c")
        run("gcc", *STRICT, "-c", tmp_path / "plan.c", "-o", tmp_path / "plan.o")


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_c_headers_compile_as_cpp(tmp_path: Path) -> None:
    for target, name in (("c", "plan.c"), ("malloc-c", "heap.c")):
        write_files(two_memories_anywhere(), target, tmp_path, name)
    (tmp_path / "all.cpp").write_text(
        '#include "plan.h"\n#include "heap.h"\n#include "plan.h"\nint main() { return 0; }\n'
    )
    run("g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", tmp_path / "all.cpp", "-o", tmp_path / "all")
    run(tmp_path / "all")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_pools_of_malloc_c_can_be_allocated_several_times(tmp_path: Path) -> None:
    write_files(two_memories_anywhere(), "malloc-c", tmp_path, "heap.c")
    (tmp_path / "main.c").write_text(
        """\
#include "heap.h"
#include <stdint.h>
#include <string.h>
int main(void)
{
    struct heap_pools a, b;
    if (heap_allocate(&a) || heap_allocate(&b))
        return 1;
    memset(HEAP_ADDRESS_7_2(&a), 1, HEAP_SIZE_7_2);
    memset(HEAP_ADDRESS_7_2(&b), 2, HEAP_SIZE_7_2);
    if (HEAP_ADDRESS_view(&a)[0] != 1 || HEAP_ADDRESS_view(&b)[3] != 2)
        return 2;
    if ((uintptr_t)HEAP_ADDRESS_7_2(&a) % 32 || HEAP_ADDRESS_main_conv_1(&a) - a.pool_sram_1 != 48)
        return 3;
    heap_free(&a);
    heap_free(&b);
    heap_free(&b);
    return a.pool_int != 0;
}
"""
    )
    run("gcc", *STRICT, tmp_path / "heap.c", tmp_path / "main.c", "-o", tmp_path / "main")
    run(tmp_path / "main")


def test_a_scatter_file_has_one_region_for_each_pool() -> None:
    text = export("armlink", two_memories(), "plan")[""].decode()
    assert re.findall(r"^(\w+) (0x[0-9a-f]+) UNINIT (0x[0-9a-f]+)\n\{\n  \* \((\S+)\)\n\}$", text, re.MULTILINE) == [
        ("plan_sram_1", "0x20000000", "0x1000", ".bss.plan_sram_1"),
        ("plan_int", "0x30000010", "0x74", ".bss.plan_int"),
    ]


def test_identifiers_are_distinct_and_resemble_the_buffer_ids() -> None:
    assert identifiers(["a/b", "a_b", "a.b", "a_b_2", 7, "7", ""]) == ("a_b_3", "a_b", "a_b_4", "a_b_2", "7_2", "7", "")
    long = identifiers(["x" * 500, "x" * 501])
    assert len(set(long)) == 2
    assert max(map(len, long)) < 110


@given(
    st.lists(
        st.text(max_size=5) | st.text("a_/2", max_size=3) | st.integers(0, 9), unique_by=lambda name: (type(name), name)
    )
)
def test_identifiers_are_valid_in_c_and_distinct(names: list[int | str]) -> None:
    found = identifiers(names)
    assert len(set(found)) == len(names)
    assert all(re.fullmatch("[0-9A-Za-z_]*", name) for name in found)


@pytest.mark.parametrize(
    ("stem", "prefix"),
    [("plan", "plan"), ("My Plan", "my_plan"), ("7", "memplan_7"), ("_x", "memplan__x"), ("ü", "memplan__")],
)
def test_the_prefix_of_c_names_is_derived_from_the_file_name(stem: str, prefix: str) -> None:
    assert prefix_of(stem) == prefix


def test_buffer_names_cannot_end_a_comment_in_exported_c() -> None:
    for target in ("c", "malloc-c"):
        for data in export(target, two_memories_anywhere(), "plan").values():
            assert "a */ b" not in data.decode()


PICKED = "since aligned_alloc picks the address, got alignment 32 and base_address 16"


@pytest.mark.parametrize(
    ("target", "row", "pool", "sentence"),
    [
        ("c", {"alignment": 48}, {}, "must be a power of two for C without a base_address, got 48"),
        ("malloc-c", {"alignment": 48}, {}, "got alignment 48 and base_address 0"),
        ("malloc-c", {"alignment": 32, "offset": 16}, {"base_address": 16}, PICKED),
    ],
)
def test_alignments_beyond_c_are_refused(target: str, row: dict[str, int], pool: dict[str, int], sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        export(target, single_pool_layout(row, **pool), "plan")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_linker_regions_of_a_pool_exclude_its_reserved_ranges(compiler: list[str], tmp_path: Path) -> None:
    places = [0, 8192, 8256, 16384]
    rows, reserved = [{"offset": offset, "alignment": 16} for offset in places], [[64, 4096], [15360, 1024], [4160, 0]]
    layout = single_pool_layout(*rows, size=65536, base_address=0x20000000, reserved=reserved)
    write_files(layout, "c", tmp_path, "plan.c")
    write_files(layout, "ld", tmp_path, "plan.ld")
    (tmp_path / "whole.ld").write_text(SCRIPT)
    elf = link(compiler, tmp_path, [buffer.name for buffer in layout.buffers], f"-Wl,-T,{tmp_path / 'whole.ld'}")
    assert [elf.pointer(f"at_{k}") - 0x20000000 for k in range(4)] == places
    regions = re.findall(r"plan_p\w* : ORIGIN = (\w+), LENGTH = (\w+)", (tmp_path / "plan.ld").read_text())
    assert [(int(at, 16) - 0x20000000, int(n, 16)) for at, n in regions] == [(0, 64), (4160, 11200), (16384, 49152)]


@pytest.mark.parametrize("target", ["c", "malloc-c"])
def test_c_export_refuses_a_pool_on_another_device(target: str) -> None:
    with pytest.raises(FormatError, match=f'pool "p": device must be the CPU for to={target}.*, got "cuda:1"'):
        export(target, single_pool_layout({}, device="cuda:1"), "plan")
    assert export(target, single_pool_layout({}, device="cpu"), "plan")


@pytest.mark.parametrize("target", ["ld", "armlink"])
def test_linker_export_refuses_a_pool_without_a_base_address(target: str) -> None:
    rule = 'pool "p": base_address must be given for a linker script, such as capacity=p=128KiB@0x20000000, got none'
    with pytest.raises(FormatError, match=re.escape(rule)):
        export(target, single_pool_layout({}), "plan")
    assert b"0x0" in export(target, single_pool_layout({}, base_address=0), "plan")[""]


@pytest.mark.parametrize("target", ["c", "ld", "armlink"])
def test_export_refuses_pools_whose_addresses_overlap(target: str) -> None:
    # A pool dumped with all fields has an explicit base_address of 0, which counts as given.
    pools = [Pool(name="sram-1").model_dump(), {"name": "int", "base_address": 64}]
    layout = layout_of(TWO_MEMORIES | {"pools": pools}, {**PLACES, 7: ("int", 0), "view": ("int", 16)})
    with pytest.raises(FormatError, match=r'pool "int": base_address must be at least 0x.*, where "sram-1" ends'):
        export(target, layout, "plan")


def test_export_refuses_an_invalid_plan() -> None:
    with pytest.raises(PlanError, match="overlap"):
        layout_of(TWO_MEMORIES, {**PLACES, "main_conv_1": ("sram-1", 40)})
