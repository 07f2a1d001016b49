"""Tests of the reader and writer of PTO kernels: tiles, memories, addresses, and bytes that are reused too early."""

import random
from collections import Counter

import pytest

from memplan.extensions.files.convert.convert import convert
from memplan.extensions.files.convert.options import ConvertOptions
from memplan.planner.errors import FormatError
from memplan.planner.foreign.reading import detect, read_model
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve
from tests.runtimes.asked_file import live_peak
from tests.support.depth import seeds

KERNEL = """module attributes {pto.target_arch = "a3"} {
  func.func @rows(%src: !pto.partition_tensor_view<16x64xf32>, %n: index) attributes {pto.kernel_kind = #pto.kernel} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %at0 = arith.constant 0 : i64
    %at4096 = arith.constant 4096 : i64
    %at8192 = arith.constant 8192 : i64
BODY
    return
  }
}
"""
TILE = "!pto.tile_buf<vec, 16x64xf32>"


def tile(name: str, at: int, kind: str = TILE) -> str:
    return f"%{name} = pto.alloc_tile addr = %at{at} : {kind}"


def step(op: str, reads: str, writes: str) -> str:
    types = ", ".join([TILE] * len(reads.split(", ")))
    return f"pto.{op} ins({reads} : {types})\n          outs({writes} : {TILE}) {{mode = [1]}}"


def loop(*lines: str) -> str:
    return "\n".join(["scf.for %i = %c0 to %n step %c1 {", *(f"  {line}" for line in lines), "}"])


def kernel(*lines: str) -> bytes:
    return KERNEL.replace("BODY", "\n".join(f"    {line}" for line in lines)).encode()


def messages(data: bytes) -> list[str]:
    model = read_model(data)
    assert model.own_plan is not None
    return [row.message.replace("main/rows/", "") for row in verify(model.problem, model.own_plan)]


FIRST = (tile("weights", 0), tile("row", 4096), step("tload", "%src", "%weights"))


def test_verification_names_a_tile_whose_bytes_a_loop_reuses_while_reading_it() -> None:
    body = (step("tload", "%src", "%row"), step("tmul", "%row, %weights", "%sum"), step("texp", "%sum", "%scratch"))
    stored = step("tstore", "%scratch", "%dst")
    sound = kernel(*FIRST, tile("sum", 8192), tile("scratch", 4096), loop(*body, stored))
    assert detect(sound, "kernel.txt") == "pto"
    model = read_model(sound)
    assert {str(row.id): row.pools for row in model.problem.buffers} == {
        f"main/rows/%{name}": ("vec",) for name in ("weights", "row", "sum", "scratch")
    }
    assert (model.own_peak, messages(sound)) == (12288, [])
    (message,) = messages(kernel(*FIRST, tile("sum", 8192), tile("scratch", 0), loop(*body, stored)))
    assert message.startswith('buffers "%weights" and "%scratch" share bytes [0, 4096) of "vec", but both are alive in')


def test_verification_reports_tiles_that_partly_overlap() -> None:
    wide = "!pto.tile_buf<loc=vec, dtype=f32, rows=17, cols=64, v_row=17, v_col=64, blayout=row_major>"
    data = kernel(tile("a", 0, wide), tile("b", 4096), step("tload", "%src", "%a"), step("tadd", "%a, %a", "%b"))
    (message,) = messages(data)
    assert '"%a" and "%b" share bytes [4096, 4352) of "vec"' in message


def test_tiles_at_one_address_are_one_buffer_if_reshaped_carried_or_overwritten_in_place() -> None:
    reshape = (tile("again", 4096, "!pto.tile_buf<vec, 64x16xf32>"), step("tadd", "%again, %weights", "%again"))
    in_place = (step("tload", "%src", "%row"), *reshape, step("tstore", "%again", "%dst"))
    assert len(read_model(kernel(*FIRST, *in_place)).problem.buffers) == 2
    carried = loop(tile("next", 4096), step("tadd", "%row, %weights", "%sum"), step("tmov", "%sum", "%next"))
    rest = (step("tload", "%src", "%row"), tile("sum", 8192), carried, step("tstore", "%row", "%dst"))
    assert messages(kernel(*FIRST, *rest)) == []
    over = (tile("sum", 4096), step("tload", "%src", "%row"), step("tadd", "%row, %weights", "%sum"))
    assert messages(kernel(*FIRST, *over, step("tstore", "%sum", "%dst"))) == []
    assert len(messages(kernel(*FIRST, *over, step("tadd", "%sum, %row", "%weights")))) == 1


def test_views_region_results_and_scratch_use_the_lifetimes_of_their_tiles() -> None:
    lines = (
        f"%part = pto.subview %weights[%c0, %c0] sizes [1, 64] : {TILE} -> !pto.tile_buf<vec, 1x64xf32>",
        step("texpands", "%c0", "%part"),
        tile("scratch", 4096),
        tile("sum", 8192),
        "%made = pto.fusion_region {\n      " + step("trowsum", "%weights, %scratch", "%sum"),
        f"  pto.yield(%sum) : ({TILE}) -> ()\n    }} {{pto.group = 1 : i64}} : {TILE}",
        "scf.if %flag {\n      " + step("tstore", "%made", "%dst") + "\n    }",
    )
    model = read_model(kernel(FIRST[0], FIRST[2], *lines))
    rows = {str(row.id).rpartition("%")[2]: (row.start, row.end) for row in model.problem.buffers}
    assert rows == {"weights": (0, 3), "scratch": (2, 3), "sum": (2, 4)}
    assert messages(kernel(FIRST[0], FIRST[2], *lines)) == []


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ((f"%a = pto.alloc_tile addr = %n : {TILE}",), r'tile "rows/%a": must have a constant address, as after the'),
        ((*FIRST, f"%a = pto.alloc_tile : {TILE}"), r'tile "rows/%a": must have an address if and only if'),
        ((*FIRST, "%f = pto.reserve_buffer {size = 8} -> i32"), "pto.reserve_buffer: must state its memory, got"),
        ((tile("a", 0, "!pto.tile_buf<vec, ?x64xf32>"),), r'tile "rows/%a": must be a pto.tile_buf or a memref'),
        ((*FIRST, f"%p = pto.castptr %row : {TILE} -> i64"), r"must be used only by PTO's operations on tiles, got"),
        (
            (*FIRST, f"%t = scf.if %f -> ({TILE}) {{\n%x = arith.constant 1 : i1\nscf.yield %row : {TILE}\n}} else {{\n"
             f"%x = arith.constant 1 : i1\nscf.yield %weights : {TILE}\n}}"),
            r'"%t": must be a single tile, got a choice between 2 by scf.if',
        ),
    ],
)  # fmt: skip
def test_malformed_pto_kernels_are_refused(lines: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        read_model(kernel(*lines))


def reserve_line(size: int, base: str) -> str:
    return (
        f'%fifo = pto.reserve_buffer {{name = "slots", size = {size}, location = #pto.address_space<vec>{base}}} -> i32'
    )


def test_reserved_ranges_of_pto_kernels_are_kept_free() -> None:
    lines = (tile("row", 4096), step("tload", "%src", "%row"), step("tstore", "%row", "%dst"))
    (message,) = messages(kernel(reserve_line(8192, ", auto = false, base = 0"), *lines))
    assert message == 'buffer "%row": must not overlap reserved ranges, got offset 4096 of "vec"'
    assert messages(kernel(reserve_line(4096, ", auto = false, base = 0"), *lines)) == []
    open_base = read_model(kernel(reserve_line(8192, ", auto = true"), *lines))
    assert (open_base.own_plan, live_peak(open_base.problem)) == (None, 8192 + 4096)


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(150))
def test_tiles_without_addresses_are_planned_and_written_with_addresses(seed: int) -> None:
    draw = random.Random(seed)
    memories = [draw.choice(["vec", "mat", "left"]) for _ in range(draw.randint(3, 9))]
    rows = [draw.randint(1, 8) * 16 for _ in memories]
    kinds = [f"!pto.tile_buf<{memory}, {n}x64xf32>" for memory, n in zip(memories, rows, strict=True)]
    reads = [sorted({k - 1, draw.randrange(k)}) if k else [] for k in range(len(rows))]
    last = [max([k, *(j for j in range(len(rows)) if k in reads[j])]) for k in range(len(rows))]
    lines = [f"%t{k} = pto.alloc_tile : {kind}" for k, kind in enumerate(kinds)]
    for k in range(len(rows)):
        given = ", ".join(f"%t{i}" for i in reads[k]) or "%src"
        lines.append(f"pto.tadd ins({given} : {TILE}) outs(%t{k} : {kinds[k]})")
    lines.append(f"pto.tstore ins(%t{len(rows) - 1} : {TILE}) outs(%dst : {TILE})")
    last[-1] += 1
    if draw.random() < 0.5:
        lines.insert(0, reserve_line(draw.choice([1024, 4096]), ", auto = true"))
    data = kernel(*lines)
    problem = read_model(data).problem
    found = solve(problem, time_limit_s=5)
    assert (found.status, verify(problem, found)) == ("optimal", ())
    written = convert(data, found, ConvertOptions(to="pto", name="k.pto")).files[0].data
    again = read_model(written)
    assert verify(again.problem, again.own_plan) == ()
    stated, planned = ({(row.id, row.offset) for row in plan.placements} for plan in (again.own_plan, found))
    assert stated <= planned
    assert len(again.own_plan.placements) >= len(rows)
    added = Counter(written.splitlines()) - Counter(data.splitlines())
    assert all(b"arith.constant" in line or b"addr =" in line or b"base =" in line for line in added)
    if b"reserve_buffer" in data:
        tiles = [row.model_dump() for row in problem.buffers if "slots" not in str(row.id)]
        problem = Problem.model_validate(problem.model_dump() | {"buffers": tiles})
    for memory in dict.fromkeys(memories):
        mine = [k for k in range(len(rows)) if memories[k] == memory]
        alive = max(sum(256 * rows[k] for k in mine if k <= when <= last[k]) for when in range(len(rows) + 1))
        kept = [row.model_dump() for row in problem.buffers if row.pools == (memory,)]
        assert (len(kept), live_peak(Problem(buffers=kept, pools=[{"name": memory}]))) == (len(mine), alive), memory


def test_kernels_are_written_with_planned_addresses_and_keep_their_comments() -> None:
    steps = step("tmul", "%weights, %weights", "%row"), step("tstore", "%row", "%dst")
    data = kernel("// %x = pto.alloc_tile : a comment", *FIRST, *steps)
    moved = data.replace(b"constant 4096 : i64", b"constant 16384 : i64")
    written = convert(moved, options=ConvertOptions(to="pto", name="k.pto")).files[0].data
    assert sorted(row.offset for row in read_model(written).own_plan.placements) == [0, 4096]
    assert b"// %x = pto.alloc_tile : a comment" in written
    with pytest.raises(FormatError, match=r"must be PTO kernels \(a \.pto file\) if the target"):
        convert(b"id,lower,upper,size\na,0,1,8\n", options=ConvertOptions(to="pto", name="a.csv"))


def test_memref_buffers_in_pto_memories_are_planned_but_cannot_be_written() -> None:
    kind = "memref<32x32xf32, strided<[32, 1]>, #pto.address_space<vec>>"
    lines = (
        *(f"%{name} = memref.alloc() : {kind}" for name in "abc"),
        f"pto.tload ins(%src : memref<32x32xf32, #pto.address_space<gm>>) outs(%a : {kind})",
        f"%v = memref.cast %a : {kind} to {kind}",
        f"pto.tadd ins(%v, %a : {kind}, {kind}) outs(%b : {kind})",
        f"pto.tadd ins(%b, %b : {kind}, {kind}) outs(%c : {kind})",
        f"pto.tstore ins(%c : {kind}) outs(%src : memref<32x32xf32, #pto.address_space<gm>>)",
    )
    data = kernel(*lines)
    assert detect(data, "kernel.pto") == "pto"
    problem = read_model(data).problem
    assert ([pool.name for pool in problem.pools], live_peak(problem)) == (["vec"], 8192)
    assert {row.size for row in problem.buffers} == {4096}
    with pytest.raises(FormatError, match=r"^kernels: must contain tiles \(pto.alloc_tile\) to place"):
        convert(data, solve(problem), ConvertOptions(to="pto", name="k.pto"))


def test_pto_kernels_without_tiles_are_refused() -> None:
    with pytest.raises(FormatError, match=r"^must contain tiles \(pto.alloc_tile or memref.alloc\), got none$"):
        read_model(kernel("pto.barrier"), "kernel.pto")
