"""Source document 1: the memory planning of ExecuTorch's Cadence backend."""

import random
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.program_files import needs_engine
from tests.support.seed_entrances import Command, Http, offsets

Row = dict[str, Any]
POSITION_BASED = "reference:cadence-position-based-greedy-with-hierarchy"
BY_SIZE = "reference:cadence-greedy-by-size-with-hierarchy"
BOTH = (POSITION_BASED, BY_SIZE)
EXIR = "executorch.exir.memory_planning"
INSIDE = "memplan.runtimes.executorch.inside"
"""The module with memplan's ExecuTorch algorithm; it needs the extra executorch."""


def lives(name: str, size: int, start: int, end: int, **more: object) -> Row:
    return {"id": name, "size": size, "start": start, "end": end, **more}


def memories(*sizes: int | None, alignment: int = 1, **more: object) -> list[Row]:
    return [{"name": f"m{k}", "size": size, "alignment": alignment, **more} for k, size in enumerate(sizes, 1)]


def placements_of(http: Http, problem: Row, solver: str = "auto") -> dict[str, tuple[str, int]]:
    return {row["id"]: (row["pool"], row["offset"]) for row in http.ask("plan", problem, solver=solver)["placements"]}


class Hierarchy:
    """Both planners of the source document, reimplemented for memories given as (size, alignment), in order."""

    def __init__(self, memories: list[tuple[int, int]], by_size: bool) -> None:
        self.memories, self.by_size = memories, by_size
        self.inside: list[list[tuple[int, Row]]] = [[] for _ in memories]

    def plan(self, tensors: list[Row]) -> dict[str, tuple[str, int]] | None:
        found = {}
        for tensor in sorted(tensors, key=lambda row: -int(row["size"])):
            for k, (size, alignment) in enumerate(self.memories):
                offset = (self.smallest_gap if self.by_size else self.first_free)(tensor, k, size, alignment)
                if offset is not None:
                    self.inside[k].append((offset, tensor))
                    self.inside[k].sort(key=lambda entry: entry[0]) if self.by_size else None
                    found[tensor["id"]] = (f"m{k + 1}", offset)
                    break
            else:
                return None
        return found

    def first_free(self, tensor: Row, k: int, size: int, alignment: int) -> int | None:
        offset = 0
        while round_up(offset + tensor["size"], alignment) <= size:
            for low, held in self.inside[k]:
                if meet(tensor, held) and low < offset + tensor["size"] and offset < low + held["size"]:
                    offset = round_up(low + held["size"], alignment)
                    break
            else:
                return offset
        return None

    def smallest_gap(self, tensor: Row, k: int, size: int, alignment: int) -> int | None:
        previous, least, offset = 0, 1 << 60, None
        for low, held in self.inside[k]:
            if meet(tensor, held):
                gap = low - previous
                if tensor["size"] <= gap < least:
                    least, offset = gap, previous
                previous = max(previous, round_up(low + held["size"], alignment))
        if offset is None and round_up(previous + tensor["size"], alignment) <= size:
            offset = previous
        return offset


def round_up(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def meet(one: Row, other: Row) -> bool:
    return bool(one["start"] <= other["end"] and other["start"] <= one["end"])


def draw_rows(rng: random.Random) -> list[Row]:
    rows = []
    for k in range(rng.randint(2, 12)):
        start = rng.randrange(12)
        rows.append(lives(f"t{k}", rng.randrange(1, 60), start, start + rng.randrange(5)))
    return rows


def agree_with_the_seed(http: Http, solver: str) -> None:
    for seed in range(40):
        rng = random.Random(seed)
        alignment = rng.choice((1, 4, 16))
        sizes = [rng.randrange(40, 160), rng.randrange(40, 160), rng.choice((60, 4096))]
        rows = draw_rows(rng)
        expected = Hierarchy([(size, alignment) for size in sizes], solver == BY_SIZE).plan(rows)
        problem = {"buffers": rows, "pools": memories(*sizes, alignment=alignment), "interval": "closed"}
        assert placements_of(http, problem, solver) == (expected or {}), seed


def test_s1_01_memories_keep_size_alignment_name_address_and_order(http: Http) -> None:
    pools = [
        {"name": "tcm", "size": 64, "alignment": 16, "base_address": 0x40000000},
        {"name": "sram", "size": 4096, "alignment": 32, "base_address": 0x50000010},
    ]
    buffers = [lives("a", 40, 0, 2), lives("b", 100, 0, 2), lives("c", 16, 1, 3)]
    answer = http.ask("plan", {"buffers": buffers, "pools": pools})
    assert [(pool["name"], pool["size"]) for pool in answer["pools"]] == [("tcm", 64), ("sram", 4096)]
    at = {row["id"]: (row["pool"], row["offset"]) for row in answer["placements"]}
    assert (at["b"][0], (0x50000010 + at["b"][1]) % 32) == ("sram", 0)
    assert {pool for name, (pool, _) in at.items() if name != "b"} == {"tcm"}
    text = http.post("plan", {"buffers": buffers, "pools": pools}, accept="text/plain").text
    assert "| tcm" in text
    assert "0x40000000" in text


THREE = {"buffers": [lives("a", 700, 0, 3), lives("b", 350, 2, 5), lives("c", 350, 4, 6)], "pools": memories(700, 400)}


def test_s1_02_memories_are_counted_from_one(http: Http) -> None:
    answer = http.ask("plan", THREE, format="exir", solver=POSITION_BASED)
    assert {row["id"]: row["mem_id"] for row in answer["specs"]} == {"a": 1, "b": 2, "c": 1}
    assert len(answer["bufsizes"]) == 3


@pytest.mark.parametrize("solver", BOTH)
def test_s1_03_an_aligned_offset_is_the_next_multiple_of_the_alignment(http: Http, solver: str) -> None:
    for alignment in (1, 3, 8, 48):
        problem = {"buffers": [lives("a", 33, 0, 1), lives("b", 20, 0, 1)], "pools": memories(500, alignment=alignment)}
        above = (33 + alignment - 1) // alignment * alignment
        assert placements_of(http, problem, solver) == {"a": ("m1", 0), "b": ("m1", above)}


def export_network() -> Any:
    """Return a small network as an edge program of ExecuTorch."""
    pytest.importorskip(INSIDE, reason="needs the extra executorch")
    pytest.importorskip(EXIR, reason="needs the extra executorch")
    import torch
    from executorch import exir

    class Network(torch.nn.Module):  # type: ignore[misc]  # where torch has no types
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (torch.relu(x + 1) * 2 * x).sum(dim=0)

    return exir.to_edge(torch.export.export(Network().eval(), (torch.ones(8, 16),), strict=False))


def plan_program(edge: Any, **options: Any) -> Any:
    """Lower an edge program with memplan's algorithm; return the algorithm and the lowered program."""
    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.passes import MemoryPlanningPass

    from memplan.runtimes.executorch.inside.algorithm import MemplanAlgorithm

    algorithm = MemplanAlgorithm()
    planning = MemoryPlanningPass(memory_planning_algo=algorithm, **options)
    return algorithm, edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_s1_04_inputs_and_outputs_are_planned_or_not() -> None:
    sizes = {}
    for is_planned in (True, False):
        algorithm, _ = plan_program(export_network(), alloc_graph_input=is_planned, alloc_graph_output=is_planned)
        sizes[is_planned] = {row.size for row in algorithm.planned[0].problem.buffers}
        assert len(algorithm.planned[0].problem.buffers) == len(algorithm.planned[0].plan.placements)
    assert len(sizes[True]) >= len(sizes[False])
    assert sizes[True] - sizes[False] == {64}  # the size of the output tensor


def test_s1_05_position_based_greedy_matches_the_source_document(http: Http) -> None:
    agree_with_the_seed(http, POSITION_BASED)


@pytest.mark.parametrize("solver", BOTH)
def test_s1_06_the_aligned_end_of_a_buffer_must_fit_its_memory_in_cadence(http: Http, solver: str) -> None:
    problem = {"buffers": [lives("a", 60, 0, 2)], "pools": memories(62, 500, alignment=16)}
    assert (placements_of(http, problem, solver), placements_of(http, problem)) == ({"a": ("m2", 0)}, {"a": ("m1", 0)})


def test_s1_07_greedy_by_size_matches_the_source_document_and_the_literal_paper_never_reuses(http: Http) -> None:
    agree_with_the_seed(http, BY_SIZE)
    for seed in range(10):
        rows = draw_rows(random.Random(seed))
        problem = {"buffers": rows, "interval": "closed"}
        answer = http.ask("plan", problem, solver="reference:cadence-greedy-by-size-paper-literal")
        assert answer["peak"] == sum(row["size"] for row in rows)


def test_s1_08_plans_satisfy_both_memory_and_buffer_alignment(http: Http) -> None:
    buffers = [lives("a", 5, 0, 2), lives("b", 5, 0, 2, alignment=64)]
    problem = {"buffers": buffers, "pools": memories(500, alignment=48)}
    message = http.ask("plan", problem, solver=BY_SIZE)["explanation"]["message"]
    assert 'buffer "b": must have an address that its alignment divides, got offset 48' in message
    for offset in offsets(http.ask("plan", problem)).values():
        assert offset % 48 == 0
    assert offsets(http.ask("plan", problem))["b"] % 192 == 0


def chain(*steps: int) -> list[Row]:
    """Return buffers r0, r1, ..., each at the given distance (bytes) from the previous one."""
    rows = [lives("r0", 40, 0, 4)]
    for k, step in enumerate(steps):
        rows.append(lives(f"r{k + 1}", 12, 1, 5, relative={"to": f"r{k}", "offset": step}))
    return rows


@pytest.mark.parametrize(
    "solver", ["auto", "cp-sat", "highs", "cbc", "reference:cadence-greedy-by-size-with-hierarchy"]
)
def test_s1_09_a_chain_of_relative_buffers_keeps_its_distances_to_the_root(http: Http, solver: str) -> None:
    needs_engine(solver)
    answer = http.ask("plan", {"buffers": [*chain(8, 12, -4), lives("other", 28, 0, 5)]}, solver=solver, time_limit_s=5)
    at = offsets(answer)
    assert [at[f"r{k}"] - at["r0"] for k in range(4)] == [0, 8, 20, 16]
    assert answer["peak"] == 68


def test_s1_10_buffers_avoid_their_forbidden_memories(http: Http) -> None:
    buffers = [lives("a", 16, 0, 1, forbid_pools=["m1"]), lives("b", 8, 0, 1, pools=["m2", "m3"])]
    problem = {"buffers": buffers, "pools": memories(16, 16, 16)}
    for solver in BOTH:
        assert placements_of(http, problem, solver) == {"a": ("m2", 0), "b": ("m3", 0)}
    assert {pool for pool, _ in placements_of(http, problem).values()} <= {"m2", "m3"}


def test_s1_11_relative_locations_that_cannot_be_resolved_are_refused(http: Http) -> None:
    circle = [lives(one, 8, 0, 1, relative={"to": other, "offset": 8}) for one, other in ("ab", "ba")]
    refused = http.post("plan", {"buffers": circle})
    assert refused.status_code == 422
    assert "must not lead back to itself" in refused.json()["detail"]
    nowhere = http.post("plan", {"buffers": [lives("a", 8, 0, 1, relative={"to": "c", "offset": 8})]})
    assert nowhere.status_code == 422
    assert "buffers[0].relative.to" in nowhere.json()["detail"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_s1_12_memory_constraints_of_cadence_passes_are_satisfied() -> None:
    pytest.importorskip(INSIDE, reason="needs the extra executorch")
    pytest.importorskip("executorch.backends.cadence.aot.memory_constraints", reason="needs the extra executorch")
    import torch
    from executorch.backends.cadence.aot import memory_constraints, memory_planning_algo, utils
    from executorch.exir.tensor import TensorSpec

    from memplan.runtimes.executorch.inside.cadence import MemplanCadenceAlgorithm

    config = utils.MemoryConfig(memory_sizes=[256, 4096], memory_alignments=[16, 16])
    graph, constraints = torch.fx.Graph(), memory_constraints.MemConstraints()
    nodes = [graph.placeholder(f"x{k}") for k in range(4)]
    specs = [TensorSpec(torch.int8, torch.Size([size])) for size in (128, 32, 64, 64)]
    for node, spec in zip(nodes, specs, strict=True):
        node.meta["spec"], spec.lifetime = spec, [0, 3]
    constraints.add_absolute_placement_constraint(nodes[0], 2, 64)
    constraints.add_relative_placement_constraint(nodes[0], nodes[1], offset=16)
    constraints.add_mem_id_to_blocklist(specs[2], 1)
    state = memory_planning_algo.MemoryPlanningState(config)
    module: Any = SimpleNamespace(input_mem_buffer_sizes=[])
    MemplanCadenceAlgorithm(config).plan_with_constraints(specs, module, None, state, constraints)
    assert [(spec.mem_id, spec.mem_offset) for spec in specs] == [(2, 64), (2, 80), (2, 0), (1, 0)]


def test_s1_13_pins_are_kept_and_views_outside_their_buffer_refused(http: Http) -> None:
    pinned = [lives("pin", 16, 0, 2, pools=["m1"], offset=32), lives("other", 40, 1, 3, pools=["m1"])]
    assert placements_of(http, {"buffers": pinned, "pools": memories(100)}) == {"pin": ("m1", 32), "other": ("m1", 48)}
    outside = [lives("whole", 16, 0, 2), lives("part", 8, 0, 2, alias_of="whole", alias_offset=12)]
    refused = http.post("plan", {"buffers": outside})
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith("buffers[1].alias_offset: ")


def test_s1_14_closed_lifetimes_overlap_at_a_common_end_and_start(http: Http, command: Command) -> None:
    rows = [lives("a", 40, 0, 3), lives("b", 16, 3, 5), lives("c", 8, 5, 5)]
    assert http.ask("plan", {"buffers": rows, "interval": "closed"})["peak"] == 56
    assert http.ask("plan", {"buffers": rows[:2]})["peak"] == 40
    problem = command.file("problem.json", {"buffers": rows, "interval": "closed"})
    wrong = {"placements": [{"id": name, "pool": "default", "offset": 0} for name in "abc"]}
    ran = command("verify", problem, command.file("wrong.json", wrong), "--format", "json")
    assert ran.status == 3
    pairs = {frozenset((row["first"], row["second"])) for row in ran.answer["violations"]}
    assert pairs == {frozenset("ab"), frozenset("bc")}


def test_s1_15_an_infeasible_problem_is_an_answer_with_its_reason(http: Http) -> None:
    answer = http.ask("plan", {"buffers": [lives("a", 300, 0, 2), lives("b", 200, 1, 3)], "pools": memories(400)})
    assert (answer["status"], answer["placements"]) == ("infeasible", [])
    assert "500 bytes would do" in answer["explanation"]["message"]
    # Three conflicting buffers of apache/tvm's test_tir_usmp_algo.py: any two already exceed 10 bytes.
    three = [{"id": f"bi_{name}", "size": 10} for name in "abc"]
    pairs = [["bi_a", "bi_b"], ["bi_b", "bi_c"], ["bi_c", "bi_a"]]
    for size, count in ((10, 2), (20, 3), (29, 3)):
        reason = http.ask("plan", {"buffers": three, "conflicts": pairs, "pools": memories(size)})["explanation"]
        assert (len(reason["buffers"]), reason["needed"], reason["irreducible"]) == (count, 30, True)


def test_s1_16_sizes_count_the_bytes_that_buffers_use(http: Http) -> None:
    assert http.ask("plan", THREE, format="exir", solver=POSITION_BASED)["bufsizes"] == [0, 700, 350]
    assert [pool["used"] for pool in http.ask("plan", THREE, solver=POSITION_BASED)["pools"]] == [700, 350]


def test_s1_17_each_memory_has_its_peak(http: Http) -> None:
    assert http.ask("plan", THREE, format="exir", solver=POSITION_BASED)["peak_memory_usages_per_memory"] == [700, 350]


def test_s1_18_the_peak_over_time_has_its_node_and_bounds(http: Http) -> None:
    answer = http.ask("plan", THREE, format="exir", solver=POSITION_BASED)
    assert answer["peak_memory_usage"] == {"bytes": 1050, "node": 2}
    for seed in range(10):
        rows = draw_rows(random.Random(seed))
        problem = {"buffers": rows, "pools": memories(100, 4096), "interval": "closed"}
        answer = http.ask("plan", problem, format="exir", solver=BY_SIZE)
        peaks = answer["peak_memory_usages_per_memory"]
        assert min(peaks) <= answer["peak_memory_usage"]["bytes"] <= sum(peaks)
        # By definition, the maximum of live bytes over time, summed over all memories.
        most = max(sum(row["size"] for row in rows if row["start"] <= t <= row["end"]) for t in range(20))
        assert answer["peak_memory_usage"]["bytes"] == most


def test_s1_19_plain_text_contains_both_memory_tables(http: Http) -> None:
    text = http.post("plan", THREE, accept="text/plain", solver=POSITION_BASED).text
    assert [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
    ] == [
        ["Memory Space", "Base Address", "Memory Size (Bytes)", "Peak Memory Usage (Bytes)"],
        ["m1", "0x0", "700", "700"],
        ["m2", "0x0", "400", "350"],
        ["Peak memory usage across all spaces", "1050 bytes", "Node 2"],
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_s1_20_memplan_can_replace_the_planning_pass_of_cadence() -> None:
    pytest.importorskip(INSIDE, reason="needs the extra executorch")
    pytest.importorskip("executorch.backends.cadence.aot.memory_planning", reason="needs the extra executorch")
    from executorch.backends.cadence.aot import memory_planning, pass_utils, utils
    from executorch.exir import ExecutorchBackendConfig

    from memplan.runtimes.executorch.inside import cadence

    config = utils.MemoryConfig(memory_sizes=[600, 65536], memory_alignments=[16, 16])
    mode, edge = pass_utils.CompileMode.DEFAULT, export_network()
    used = []
    for planning in (
        memory_planning.CadenceMemoryPlanning(config, mode, 0),
        cadence.MemplanCadencePlanning(config, mode),
    ):
        program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
        used.append(program.executorch_program.execution_plan[0].non_const_buffer_sizes)
    assert used[1][2] <= used[0][2]
    assert used[1][1] <= 600


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_s1_21_memplan_is_a_planning_algorithm_of_executorch() -> None:
    algorithm, program = plan_program(export_network())
    (found,) = algorithm.planned
    assert found.plan.status == "optimal"
    assert program.executorch_program.execution_plan[0].non_const_buffer_sizes == list(found.bufsizes)
    import torch

    runtime = pytest.importorskip("executorch.runtime", reason="needs the extra executorch")
    method = runtime.Runtime.get().load_program(program.buffer).load_method("forward")
    x = torch.arange(128.0).reshape(8, 16)
    torch.testing.assert_close(method.execute((x,))[0].clone(), (torch.relu(x + 1) * 2 * x).sum(dim=0))


def test_s1_22_a_failed_offset_in_one_memory_does_not_affect_the_next_memory(http: Http) -> None:
    # x fits below the pin, but its aligned end 16 exceeds m1; in m2, offset 0 is taken.
    pin, taken = lives("pin", 5, 0, 2, pools=["m1"], offset=10), lives("taken", 32, 0, 2, pools=["m2"])
    buffers = [pin, taken, lives("x", 10, 0, 2)]
    problem = {"buffers": buffers, "pools": memories(15, 4096, alignment=16)}
    assert http.ask("plan", problem, solver=BY_SIZE)["placements"] == []  # 10 is no multiple of 16
    for row in buffers[:1]:
        row["offset"] = 0
    assert placements_of(http, problem, BY_SIZE)["x"] == ("m2", 32)
