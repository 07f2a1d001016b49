"""Tests of the reader of ExecuTorch programs: compiled ones, and handwritten ones for cases that no compiler writes."""

import json
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.planner.errors import FormatError, InputError, OptionError
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.planner.verify.verifier import verify
from memplan.programs.lifetimes.shadow import shadow
from memplan.solvers.portfolio.solve import solve
from tests.runtimes.tflite_files import Fields, flatbuffer

MODELS = Path(__file__).parents[3] / "tests" / "models"
NAMES = ("choice", "loop", "state", "thirds")
Rows = dict[str, tuple[tuple[tuple[int, int], ...], int]]


def tensor(at: int | None = 0, *sizes: int, data: int = 0, kind: int = 6) -> Fields:
    """Return a value that is a tensor: at an offset of memory 1, or, with None, in no memory."""
    fields: dict[int, Any] = {0: ("b", kind), 2: list(sizes or (4,)), 5: ("I", data)}
    if at is not None:
        fields[6] = {0: ("I", 1), 1: ("I", at)}
    return {0: ("B", 5), 1: fields}


def tensors(*items: int) -> Fields:
    return {0: ("B", 10), 1: {0: list(items)}}


NEVER: Fields = {0: ("B", 3), 1: {}}
"""A value that is false."""


def kernel(*arguments: int, operator: int = 0) -> Fields:
    return {0: ("B", 1), 1: {0: ("i", operator), 1: list(arguments)}}


def delegate(*arguments: int) -> Fields:
    return {0: ("B", 2), 1: {1: list(arguments)}}


def move(source: int, result: int) -> Fields:
    return {0: ("B", 3), 1: {0: ("i", source), 1: ("i", result)}}


def jump(condition: int, destination: int) -> Fields:
    return {0: ("B", 4), 1: {0: ("i", condition), 1: ("i", destination)}}


def program(values: Sequence[Fields], inputs: Sequence[int], outputs: Sequence[int], *rows: Fields) -> bytes:
    """Return a program of one method, whose operators are an ordinary one, one in place, a view and a put."""
    names = ("aten::add", "aten::add_", "executorch_prim::et_view", "executorch_prim::et_copy_index")
    operators = [{0: name} for name in (*names, "cortex_m::quantized_avg_pool2d")]
    return flatbuffer({1: [method("forward", values, inputs, outputs, rows, operators)]}, b"ET12")


def method(
    name: str,
    values: Sequence[Fields],
    inputs: Sequence[int],
    outputs: Sequence[int],
    rows: Sequence[Fields],
    operators: Sequence[Fields] = (),
) -> Fields:
    return {0: name, 2: list(values), 3: list(inputs), 4: list(outputs), 5: [{2: list(rows)}], 6: list(operators)}


def import_program(data: bytes, **options: Any) -> ImportedProblem:
    return read_model(data, "model.pte", ModelOptions(**options))


def rows(found: ImportedProblem) -> Rows:
    return {str(row.id).removeprefix("main/"): (row.intervals, row.size) for row in found.problem.buffers}


def aliases(found: ImportedProblem) -> dict[str, str]:
    listed = ((row.id, row.alias_of) for row in found.problem.buffers if row.alias_of is not None)
    return {str(alias).removeprefix("main/"): str(inside).removeprefix("main/") for alias, inside in listed}


def test_an_empty_value_is_not_treated_as_the_base_of_a_view() -> None:
    values = [tensor(0), tensor(16, 2, 2), tensor(16, 0), tensor(16, 4), tensor(32)]
    found = import_program(program(values, [0], [4], kernel(0, 1), kernel(0, 2), kernel(3, 4)))
    assert (found.problem.root_of("main/#3"), solve(found.problem).peak) == (found.problem.index["main/#1"], 32)


@pytest.mark.parametrize(
    ("name", "own", "bound"), [("choice", 320, 192), ("loop", 416, 384), ("state", 160, 160), ("thirds", 448, 400)]
)
def test_the_memory_plan_in_an_executorch_program_is_imported(name: str, own: int, bound: int) -> None:
    found = import_program((MODELS / f"{name}.pte").read_bytes())
    assert (found.own_peak, solve(found.problem).peak) == (own, bound)


def test_the_state_of_a_program_is_always_alive() -> None:
    found = import_program((MODELS / "state.pte").read_bytes())
    lifetimes = rows(found)
    state = next(name for name in lifetimes if any(row.id == name for row in _persistent_rows(found)))
    start = min(interval[0] for intervals, _ in lifetimes.values() for interval in intervals)
    end = max(interval[1] for intervals, _ in lifetimes.values() for interval in intervals)
    assert lifetimes[state][0] == ((start, end),)


def _persistent_rows(found: ImportedProblem) -> list[Any]:
    return [row for row in found.operations.functions["main"].buffers if row.persistent]


def test_a_kernel_writes_the_tensor_of_its_last_argument() -> None:
    values = [tensor(0), tensor(16), tensor(32)]
    found = rows(import_program(program(values, [0], [2], kernel(0, 1, 1), kernel(1, 0, 2, 2))))
    assert found == {"#0": (((-1, 2),), 16), "#1": (((0, 2),), 16), "#2": (((1, 3),), 16)}


def main_function(data: bytes) -> Any:
    return import_program(data).operations.functions["main"]


def test_a_kernel_writes_each_tensor_of_the_list_that_it_returns() -> None:
    values = [tensor(0), tensor(16), tensor(32), tensors(1, 2), tensors(1, 2), tensor(0)]
    first = main_function(program(values, [0], [5], kernel(0, 3, 4), kernel(1, 2, 5, 5))).body[0]
    assert (first.inputs, first.outputs) == (("#0",), ("#1", "#2"))


def test_an_in_place_kernel_reads_the_tensor_that_it_writes() -> None:
    data = program([tensor(0), tensor(16)], [0], [1], kernel(0, 1, 1), kernel(1, 0, 1, operator=1))
    assert main_function(data).body[1].inputs == ("#1", "#0")


@pytest.mark.parametrize(
    "chain",
    [
        [kernel(0, 1, 1), kernel(1, 2, operator=2), kernel(2, 3, 3)],
        [kernel(0, 1, 1), kernel(2, 3, 3)],
        [kernel(0, 1, 1), delegate(2, 3)],
    ],
    ids=["made by an instruction", "recognised by its offset", "read by a delegate"],
)
def test_a_view_lies_inside_its_base_tensor(chain: list[Fields]) -> None:
    values = [tensor(0), tensor(16), tensor(16, 2, 2), tensor(32)]
    assert aliases(import_program(program(values, [0], [3], *chain))) == {"#2": "#1"}


def test_a_placed_value_that_no_kernel_writes_counts_as_state() -> None:
    found = import_program(program([tensor(0), tensor(16), tensor(32)], [0], [2], kernel(0, 1, 2, 2)))
    assert [row.id for row in _persistent_rows(found)] == ["#1"]


def test_constants_and_values_placed_at_run_time_are_not_in_the_problem() -> None:
    values = [tensor(0), tensor(None, data=1), tensor(None), tensor(16)]
    found = import_program(program(values, [0], [3], kernel(0, 1, 2, 2), kernel(2, 0, 3, 3)))
    assert (set(rows(found)), found.operations.functions["main"].constants) == ({"#0", "#3"}, ("#1",))


def test_a_delegate_writes_its_last_arguments() -> None:
    data = program([tensor(0), tensor(16), tensor(32), tensor(48)], [0], [3], delegate(0, 1, 2), kernel(1, 2, 3, 3))
    assert main_function(data).body[0].outputs == ("#1", "#2")


def test_a_buffer_that_a_loop_fills_in_parts_is_alive_during_the_whole_loop() -> None:
    values = [tensor(0), tensor(16, 8), tensor(48), NEVER, tensor(64)]
    chain = [kernel(0, 2, 2), kernel(1, 2, 3, operator=3), jump(3, 0), kernel(1, 4, 4)]
    found = import_program(program(values, [0], [4], *chain))
    plan = solve(found.problem)
    assert (shadow(found.operations, plan), plan.peak) == ((), 64)


def test_both_branches_of_a_choice_write_the_chosen_tensor_in_place() -> None:
    values = [tensor(0), tensor(16), tensor(16), tensor(32), NEVER, tensor(48)]
    first, second = [kernel(0, 1, 1), move(1, 3)], [kernel(0, 2, 2), move(2, 3)]
    found = import_program(program(values, [0], [5], jump(0, 4), *first, jump(4, 6), *second, kernel(3, 5, 5)))
    assert (aliases(found), solve(found.problem).peak) == ({"#1": "#3", "#2": "#3"}, 32)


def test_elements_have_the_bytes_of_their_type_and_sizes_are_rounded_up() -> None:
    data = program([tensor(0, 9, kind=1), tensor(16, 3, kind=7)], [0], [1], kernel(0, 1, 1))
    for options, sizes in (({}, [16, 32]), ({"alignment": 64}, [64, 64])):
        assert [size for _, size in rows(import_program(data, **options)).values()] == sizes


def test_only_the_method_forward_is_read_and_others_are_reported() -> None:
    values = [tensor(0), tensor(16)]
    both = flatbuffer({1: [method("encode", values, [0], [1], []), method("forward", values, [0], [0], [])]}, b"ET12")
    found = import_program(both)
    assert found.problem.name == "forward"
    assert [warning.message for warning in found.warnings] == ['only method "forward" is read, not "encode"']


def vela(**blocks: bytes) -> bytes:
    """Return a stream of Vela: for each block its name, the length of its data, and the data, padded to 16 bytes."""
    rows = {"vela_bin_stream": b"", **blocks, "vela_end_stream": b""}
    names = (
        name.encode().ljust(16, b"\0") + len(data).to_bytes(4, "little") + bytes(12) for name, data in rows.items()
    )
    return b"".join(name + data + bytes(-len(data) % 16) for name, data in zip(names, rows.values(), strict=True))


ETHOS_U = vela(cmd_data=b"command", scratch_size=(917_504).to_bytes(4, "little"), inputs=bytes(20))


def program_of_ethos_u(data: bytes = ETHOS_U, *, index: int = 0) -> bytes:
    listed = [{0: "EthosUBackend", 1: {0: ("b", 0), 1: ("I", index)}}]
    calls = {2: [{0: ("B", 2), 1: {0: ("i", 0), 1: [0, 1]}}]}
    rows = {0: "forward", 2: [tensor(0), tensor(16)], 3: [0], 4: [1], 5: [calls], 6: [], 7: listed, 9: []}
    return flatbuffer({1: [rows | {8: array("q", [0, 32])}], 3: [{0: data}]}, b"ET12")


def test_the_scratch_of_ethos_u_is_read_and_counts_in_addition_to_the_plan() -> None:
    found = import_program(program_of_ethos_u())
    message = "EthosUBackend takes 917,504 bytes of scratch beside what is planned, while it is called"
    assert [(each.rule, each.message) for each in found.warnings] == [("delegate-scratch", message)]
    assert (found.beside, sum(row.size for row in found.problem.buffers)) == (917_504, 32)
    (unknown,) = import_program(program_of_ethos_u(vela(cmd_data=b"command"))).warnings
    assert (unknown.rule, "EthosUBackend" in unknown.message) == ("unknown-delegates", True)
    with pytest.raises(FormatError, match=r"processed\.index: must be the index of one of 1 data blocks, got 3"):
        import_program(program_of_ethos_u(index=3))


def test_stated_scratch_of_a_delegate_or_kernel_counts_in_addition_to_the_plan() -> None:
    unknown = program_of_ethos_u(vela(cmd_data=b"command"))
    for data, name in (
        (unknown, "EthosUBackend"),
        ((Path(__file__).parents[3] / "tests/models/split_cat.pte").read_bytes(), "aten::cat"),
    ):
        found = import_program(data, scratch={name: 4096})
        assert (found.beside, found.problem) == (4096, import_program(data).problem)
        message = "kernels take up to 4,096 bytes of scratch, as stated, in addition to what is planned"
        assert [(each.rule, each.message) for each in found.warnings] == [("stated-scratch", message)]
    with pytest.raises(OptionError, match=r"scratch: must name operators that run \(EthosUBackend\)"):
        import_program(unknown, scratch={"CoreMLBackend": 4096})


BROKEN = {
    "no method": (flatbuffer({}, b"ET12"), r"program\.execution_plan: must not be empty"),
    "a size below 0": (program([tensor(0, -4)], [0], [0]), r"sizes: must be at least 0, got \[-4\]"),
    "a type nobody knows": (program([tensor(kind=99)], [0], [0]), "scalar_type: must be a type of known size, got 99"),
    "too large": (
        program([tensor(0, 2**31 - 1, 2**31 - 1, 2**31 - 1)], [0], [0]),
        r"values\[0\]\.val\.sizes: must take at most",
    ),
    "a value that is not there": (
        program([tensor()], [0], [0], kernel(0, 7)),
        r"instructions\[0\]\.instr_args: must refer to values by an index below 1, got 7",
    ),
    "an operator that is not there": (
        program([tensor()], [0], [0], kernel(0, operator=9)),
        r"op_index: must be the index of one of 5 operators, got 9",
    ),
    "an instruction nobody knows": (
        program([tensor()], [0], [0], {0: ("B", 9), 1: {}}),
        r"instructions\[0\]\.instr_args: must be a call, a move, a jump or a free, got type 9",
    ),
    "a jump over one way only": (
        program([tensor(), NEVER], [0], [0], jump(1, 2), kernel(0, 0)),
        r"destination_instruction: must be the start of a loop or of the second branch of a choice, got 2",
    ),
    "a loop that ends outside of its way": (
        program([tensor(), NEVER], [0], [0], jump(0, 3), kernel(0, 0), jump(1, 4), kernel(0, 0), jump(0, 1)),
        r"destination_instruction: must be inside the enclosing loop or branch",
    ),
    "loops a hundred deep": (
        program([tensor()], [0], [0], kernel(0, 0), *[jump(0, 0) for _ in range(100)]),
        r"at most 64 deep",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_program_is_an_error_that_states_its_location(name: str) -> None:
    data, sentence = BROKEN[name]
    with pytest.raises(FormatError, match=sentence):
        import_program(data)


@pytest.mark.parametrize("name", NAMES)
def test_a_truncated_program_is_refused_unless_all_relevant_bytes_are_present(name: str) -> None:
    data = (MODELS / f"{name}.pte").read_bytes()
    whole = import_program(data)
    refused = 0
    for size in range(8, len(data), 7):
        try:
            assert import_program(data[:size]).problem == whole.problem
        except InputError:
            refused += 1
    assert refused > 100


def test_the_workspace_of_a_cortex_m_kernel_is_scratch_and_not_state() -> None:
    values = [tensor(0), tensor(16), tensor(32), tensor(16), tensor(48)]
    found = import_program(program(values, [0], [4], kernel(0, 1, 2, 2, operator=4), kernel(2, 3, 4, 4, operator=4)))
    alive = {name: intervals for name, (intervals, _) in rows(found).items()}
    assert (alive["#1"], alive["#3"]) == (((0, 1),), ((1, 2),))
    assert found.own_plan is not None
    assert verify(found.problem, found.own_plan) == ()
    ordinary = import_program(program(values, [0], [4], kernel(0, 1, 2, 2), kernel(2, 3, 4, 4)))
    assert [(start, end > 2) for start, end in rows(ordinary)["#1"][0]] == [(-1, True)]


MEASURED = {
    "attention": (11768, 7964), "batch_norm": (4688, 3084), "choice": (2168, 1332), "loop": (1992, 1220),
    "split_cat": (2112, 1336), "state": (1176, 696), "thirds": (1864, 1168),
}  # fmt: skip
"""The bytes of a loaded method, by ExecuTorch cff6f4dd3 built for x86-64, and for an emulated Cortex-M4."""


@pytest.mark.parametrize("name", MEASURED)
def test_the_bytes_of_a_loaded_method_equal_those_of_the_runtime(name: str) -> None:
    data = (MODELS / f"{name}.pte").read_bytes()
    found = [import_program(data, target=target) for target in ("host", "cortex-m4")]
    assert tuple(each.kept for each in found) == MEASURED[name]
    assert [each.target for each in found] == ["host (64-bit)", "cortex-m4 (32-bit)"]
    assert import_program(data).kept == 0


def test_check_reports_all_bytes_to_reserve_on_a_board(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.pte").write_bytes(program_of_ethos_u())
    assert main(["check", str(tmp_path / "m.pte"), "--target", "cortex-m55", "--budget", "1MiB"]) == 0
    arena = json.loads(capsys.readouterr().out)["arena"]
    assert (arena["head"], arena["temporary"], arena["target"]) == (32, 917_504, "cortex-m55 (32-bit)")
    assert arena["least"] == 32 + -(-arena["tail"] // 16) * 16 + 917_504
    assert main(["check", str(tmp_path / "m.pte"), "--budget", "900kB"]) == 1
    assert "ExecuTorch's arena" in capsys.readouterr().err
    (tmp_path / "m.pte").write_bytes(program_of_ethos_u(vela(cmd_data=b"command")))
    assert main(["check", str(tmp_path / "m.pte"), "--target", "cortex-m55", "--budget", "1MiB"]) == 1
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert failure["rule"] == "unknown-arena"
    assert "delegate EthosUBackend" in failure["message"]
    assert "--scratch" not in failure["message"]
