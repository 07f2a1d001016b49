"""Tests of the reader of IREE's packs: it reproduces recorded problems, and plans are no larger than the compiler's."""

import pytest

from memplan.planner.errors import FormatError
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import detect, read_model
from memplan.planner.formats import read_problem
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.buffer_table import BufferTable
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from tests.support import public_problems
from tests.support.dump_files import DUMPS, PACKS, dump_bytes

MODELS = sorted(path.name.removesuffix(".iree.txt") for path in DUMPS.glob("*.iree.txt"))


def model(name: str) -> ImportedProblem:
    return read_model(dump_bytes(f"{name}.iree.txt")[0])


def packs(found: ImportedProblem) -> list[Problem]:
    """Return each pack of an imported file as a separate problem."""
    rows = {name: [row for row in found.problem.buffers if row.pools == (name,)] for name in found.problem.pool_index}
    free = [[row.model_copy(update={"pools": None}) for row in inside] for inside in rows.values()]
    return [Problem(buffers=BufferTable.from_rows(inside)) for inside in free]


@pytest.mark.parametrize("name", MODELS)
def test_packs_read_from_a_dump_equal_the_recorded_problems(name: str) -> None:
    wanted = [path for path in public_problems.files("iree") if path.name.startswith(f"light_{name}_pack")]
    assert wanted
    hashes = {problem_hash(read_problem(path.read_bytes(), path.name)) for path in wanted}
    # The order of functions in a dump varies, so compare sets.
    assert {problem_hash(pack) for pack in packs(model(name))} == hashes


@pytest.mark.parametrize("name", MODELS)
def test_plans_of_packs_are_no_larger_than_irees_own(name: str) -> None:
    found = model(name)
    assert solve(found.problem, time_limit_s=5).peak <= found.own_peak


def test_lifetimes_of_slices_include_their_last_step() -> None:
    found = read_model(PACKS)
    rows = [(row.id, row.start, row.end, row.size, row.alignment) for row in found.problem.buffers]
    assert rows == [("0/0", 0, 2, 64, 64), ("0/1", 1, 3, 100, 64), ("0/2", 2, 3, 64, 64)]
    assert [pool.name for pool in found.problem.pools] == ["pack 0 (transient)"]
    assert found.own_peak is None
    aligned = read_model(PACKS, options=ModelOptions(alignment=128))
    assert {(row.size, row.alignment) for row in aligned.problem.buffers} == {(128, 128)}


def test_equal_names_in_different_iree_functions_are_independent() -> None:
    function = PACKS.replace(b"@main", b"@other").replace(b"arith.constant 64 :", b"arith.constant 32 :")
    found = read_model(PACKS + function)
    assert [row.size for row in found.problem.buffers] == [64, 100, 64, 32, 100, 32]
    assert [pool.name for pool in found.problem.pools] == ["pack 0 (transient)", "pack 1 (transient)"]


def test_a_dump_that_follows_compiler_warnings_is_recognised() -> None:
    assert detect(b"model.mlir:3:1: warning: odd\n" + TITLE % b"Before" + PACKS) == "iree"


TITLE = b"// -----// IR Dump %s LayoutSlicesPass: iree-stream-layout-slices //----- //\n"


def printed_layout(total: bytes) -> bytes:
    """Return a function as the compiler prints it after the pass, with a pack of `total` bytes."""
    lines = [line for line in PACKS.splitlines(keepends=True) if b"[" not in line and b"})" not in line]
    text = b"".join(line for line in lines if b"pack" not in line)
    constant = b"  %c9 = arith.constant " + total + b" : index\n"
    return text.replace(b"{%0#0}", b"{%c9}").replace(b"  %c64 =", constant + b"  %c64 =")


def test_irees_own_peak_is_read_from_the_dump_after_the_pass_of_the_same_function() -> None:
    other = b"util.func public @other() {\n}\n"
    data = TITLE % b"Before" + PACKS + TITLE % b"Before" + other + TITLE % b"After" + other
    assert read_model(data).own_peak is None
    assert read_model(data + TITLE % b"After" + printed_layout(b"256")).own_peak == 256


def test_iree_packs_in_dumps_of_other_passes_are_ignored() -> None:
    earlier = PACKS.replace(b"[0, 1]", b"[0, 7]")
    other = TITLE.replace(b"iree-stream-layout-slices", b"iree-stream-schedule-allocation")
    assert len(read_model(other % b"After" + earlier + TITLE % b"Before" + PACKS).problem.buffers) == 3


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (b"[1, 2]", b"[1, 0]", r"line 6: must end at or after its first step \(1\), got 0"),
        (b"[1, 2] = %c100", b"[1, 2] = %arg7", 'line 6: must have a constant size, .* got "%arg7"'),
        (b"[1, 2] =", b"[1, 2)", r"line 6: must be a slice \[first, last\] = %size"),
        (b"slices({", b"parts({", "line 4: must have slices"),
        (b" = stream.resource.pack", b" - stream.resource.pack", "must be StableHLO, or contain a stream.resource"),
        (b"constant 100 :", b"constant -100 :", "slice 1 of pack 0: must be 0 to .* bytes, got -100"),
    ],
)
def test_errors_in_iree_packs_state_their_line(old: bytes, new: bytes, sentence: str) -> None:
    assert old in PACKS
    with pytest.raises(FormatError, match=sentence):
        read_model(PACKS.replace(old, new))


def test_comments_in_iree_dumps_are_ignored() -> None:
    (data,) = dump_bytes("zfnet512.iree.txt")
    lines = data.decode().split("\n")
    note = " // %c1 = arith.constant 1 : index"
    noted = "\n".join(line if line.startswith("// -----//") else line + note for line in lines)
    with_comments, without = read_model(noted.encode()), read_model(data)
    assert (with_comments.problem, with_comments.own_plan) == (without.problem, without.own_plan)
    lines_inside = (
        b"// a",
        b"%c8 = arith.constant 8 : index // eight",
        b"%t, %a = stream.resource.pack slices({ // one",
        b"[0, 2] = %c8 // it",
        b"}) : index",
    )
    assert [row.size for row in read_model(b"\n".join(lines_inside)).problem.buffers] == [8]
