"""Tests that each file of another system is read with its buffers and own plan, or refused with its message."""

from contextlib import suppress

import pytest

from memplan.planner.errors import FormatError, InputError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.questions.reading import Reader
from tests.runtimes.foreign_files import files

READ: dict[str, tuple[int, int | None, bool | None]] = {
    "choice.tflite": (9, None, None),
    "loop.tflite": (11, None, None),
    "variable.tflite": (8, None, None),
    "view.tflite": (4, None, None),
    "kws_dscnn_int8.tflite": (13, None, None),
    "across_dedicated.tflite": (6, 43920, True),
    "across_shared.tflite": (5, 34208, True),
    "skip_dedicated.tflite": (9, 66976, True),
    "skip_shared.tflite": (8, 52016, True),
    "attention.pte": (57, 5632, True),
    "batch_norm.pte": (14, 3200, True),
    "choice.pte": (12, 320, True),
    "loop.pte": (10, 416, True),
    "split_cat.pte": (11, 336, True),
    "state.pte": (7, 160, True),
    "thirds.pte": (11, 448, True),
    "bvlc_alexnet.iree.txt": (17, 3751488, None),
    "cond.hlo.pb": (3, 16456, True),
    "cond.xla.txt": (3, 16456, True),
    "densenet121.iree.txt": (214, 9416320, None),
    "inception_v2.iree.txt": (75, 5574592, None),
    "mlp_fused.relax": (7, None, None),
    "mlp_lowered.relax": (7, 37056, True),
    "mlp_sgd.hlo.pb": (27, 12090728, True),
    "mlp_sgd.xla.txt": (27, 12090728, True),
    "mlp_values.relax": (13, None, None),
    "network_allocated.relax": (6, None, None),
    "network_planned.relax": (6, 46528, True),
    "resnet50.iree.txt": (62, 8963584, None),
    "scan.hlo.pb": (6, 32864, True),
    "scan.xla.txt": (8, 32864, True),
    "shufflenet.iree.txt": (79, 3217344, None),
    "while.hlo.pb": (4, 16452, True),
    "while.xla.txt": (5, 16452, True),
    "zfnet512.iree.txt": (15, 13877056, True),
    "planned.tflite": (3, 768, True),
    "planned_wrongly.tflite": (3, 768, False),
    "planned_in_part.tflite": (3, None, None),
    "four_bits.tflite": (2, None, None),
    "of_nobody.tflite": (2, None, None),
    "mean.tflite": (4, None, None),
    "vela_without_places.tflite": (3, None, None),
    "open.tflite": (2, None, None),
    "d181_transpose.tflite": (2, None, None),
    "s013_fc.tflite": (2, None, None),
    "s097_rmax.tflite": (4, None, None),
    "s110_gather.tflite": (2, None, None),
    "s128_bmm.tflite": (3, None, None),
    "hand.mlir": (3, None, None),
    "noted.mlir": (3, None, None),
    "perceptron.graph": (6, 640, True),
    "told_by_calls.relax": (3, None, None),
    "in_a_test.relax": (3, None, None),
    "memories.json": (2, None, None),
    "minimalloc.csv": (2, None, None),
    "minimalloc_solved.csv": (2, None, True),
    "closed.csv": (2, None, None),
    "snapshot.json": (3, 1536, True),
    "snapshot.pickle": (3, 1536, True),
}
"""Maps a readable file to (number of buffers, peak of the plan in the file, whether this plan is valid)."""
REFUSED = {
    "without_lifetimes.xla.txt": "must be XLA's texts of the buffer assignment and the live ranges,",
    "without_assignment.hlo.pb": "hlo_proto.buffer_assignment: is required: dump the module after its",
    "attention.stablehlo.mlir": 'arg0.0, arg0.1: must have sizes, got none for "b", "n"; give them, for example:',
    "convolution.stablehlo.mlir": 'arg0.0, arg0.1, arg0.2: must have sizes, got none for "b", "h", "w"; give them',
    "recurrent.stablehlo.mlir": 'arg0.0, arg0.1: must have sizes, got none for "t", "b"; give them, for example:',
    "two_functions.relax": "must have a function main, or only one function, with @R.function (keep the",
    "loops.relax": "must have a function with @R.function, got only loops (T.prim_func); write operations instead",
    "broken.relax": "must be TVMScript: ",
    "snapshot_without_history.pickle": "device_traces: must have events: start recording the memory history before",
    "snapshot_that_runs.pickle": 'must contain plain values only, got an object of "builtins.print"',
}
"""Maps a refused file to the start of the error message; the tests of each reader check further messages."""
FILES = dict(files())


def read(name: str, data: bytes) -> tuple[Problem, Reader]:
    reader = Reader()
    return reader.problem(data, name), reader


def test_every_file_has_an_expected_result() -> None:
    assert FILES.keys() == READ.keys() | REFUSED.keys()
    assert sum(map(len, FILES.values())) < 1_000_000


def extent(problem: Problem, plan: Plan) -> int:
    """Return the bytes that a plan takes in all pools, by the offsets and sizes of its buffers."""
    size = dict(zip(problem.buffers.ids, problem.buffers.size.tolist(), strict=True))
    ends: dict[str, int] = {}
    for row in plan.placements:
        ends[row.pool] = max(ends.get(row.pool, 0), row.offset + size[row.id])
    return sum(ends.values())


@pytest.mark.parametrize("name", READ)
def test_a_file_of_another_system_is_read_with_its_own_plan(name: str) -> None:
    problem, found = read(name, FILES[name])
    own_peak, is_valid = None if found.imported is None else found.imported.own_peak, None
    with suppress(FormatError):  # A file without a plan raises FormatError.
        plan = found.plan(FILES[name], name, problem)
        problem = found.problem_of_plan or problem
        is_valid = verify(problem, plan) == ()
        # A stated peak may be larger, by bytes that no buffer takes.
        assert own_peak is None or own_peak * 0.95 <= extent(problem, plan) <= own_peak
    assert (len(problem.buffers), own_peak, is_valid) == READ[name]


@pytest.mark.parametrize("name", REFUSED)
def test_an_unreadable_file_is_refused_with_its_message(name: str) -> None:
    with pytest.raises(InputError) as error:
        read(name, FILES[name])
    assert str(error.value).startswith(REFUSED[name])
