import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import I64_MAX, Instance
from memplan.planner.model.buffer_table import ABSENT, I64, BufferTable, column
from memplan.planner.model.problem import Problem
from memplan.solvers.core.pack import PackOrder, PackRules, pack
from memplan.solvers.core.tables import Reference
from memplan.solvers.packing.packer import Packer
from tests.support.packers import PackerOfBlocks
from tests.support.plain_bodies import Body, Page
from tests.support.plain_packer import PlainPacker
from tests.support.random_problems import random_problem

RUNNING = column([0])
FEATURES = ("holes", "conflicts", "pools", "alignment", "pins", "reserved")
MIXES = [frozenset(FEATURES[k] for k in range(6) if mix >> k & 1) for mix in range(64)]


def naive_pack(instance: Instance, q: int, order: I64, best_fit: bool) -> list[int]:
    """Return offsets packed in the given order, found by trying every offset at which a gap can begin."""
    memory, placed, offsets = instance.pools[q], dict[int, int](), []
    for i in order.tolist():
        size, pin = int(instance.size[i]), int(instance.pin[i])
        lowest, step = int(instance.lowest[q, i]), int(instance.alignment[q, i])
        blocked = [(low, high) for low, high in memory.reserved.tolist()]
        blocked += [(at, at + int(instance.size[j])) for j, at in placed.items() if conflict(instance, i, j)]
        starts = [lowest + max(0, -(-(high - lowest) // step)) * step for high in [0, *(b for _, b in blocked)]]
        starts = [pin] if pin >= 0 else starts
        free = [x for x in starts if x + size <= memory.capacity and all(b <= x or a >= x + size for a, b in blocked)]
        gap = {x: min([a for a, _ in blocked if a >= x + size], default=I64_MAX) - x for x in free}
        offsets.append(min(free, key=lambda x: (gap[x] if best_fit else 0, x), default=ABSENT))
        if free:
            placed[i] = offsets[-1]
    return offsets


def conflict(instance: Instance, i: int, j: int) -> bool:
    lives = [
        list(zip(instance.start[a:b].tolist(), instance.end[a:b].tolist(), strict=True))
        for a, b in zip(instance.first[:-1].tolist(), instance.first[1:].tolist(), strict=True)
    ]
    first = instance.conflict_first
    is_named = j in instance.conflict[first[i] : first[i + 1]].tolist()
    return is_named or any(a < d and c < b for a, b in lives[i] for c, d in lives[j])


@pytest.mark.parametrize("features", MIXES, ids=lambda mix: "+".join(sorted(mix)) or "plain")
def test_the_pack_kernel_and_the_python_packer_agree_with_naive_packing(features: frozenset[str]) -> None:
    for seed in range(3):
        instance = compile_problem(random_problem(seed, 14, features, capacity=None if seed else 45))
        order = column(np.random.default_rng(seed).permutation(len(instance)))
        packers: list[Packer | PlainPacker] = [PlainPacker(instance), Packer(instance, RUNNING)]
        packers += [PackerOfBlocks(instance, 1, False), PackerOfBlocks(instance, 2, True)]
        for q in range(len(instance.pools)):
            mine = column(order[instance.allowed[q, order]])
            for best_fit in (False, True):
                expected = naive_pack(instance, q, mine, best_fit)
                assert [packer.pack(q, mine, best_fit).tolist() for packer in packers] == [expected] * 4


def test_block_width_and_tree_do_not_change_the_packed_offsets() -> None:
    for seed in range(6):
        instance = compile_problem(random_problem(seed, 300, frozenset(FEATURES) - {"pools"}))
        order = column(np.random.default_rng(seed).permutation(300))
        for best_fit in (False, True):
            expected = PlainPacker(instance).pack(0, order, best_fit).tolist()
            for width in (1, 3, 16, 128, 10_000):
                for is_flat in (False, True):
                    assert PackerOfBlocks(instance, width, is_flat).pack(0, order, best_fit).tolist() == expected


def huge(rows: list[tuple[int, int, int, int]], size: int | None) -> Instance:
    fields = ("size", "start", "end", "alignment")
    buffers = [{"id": i, **dict(zip(fields, row, strict=True))} for i, row in enumerate(rows)]
    return compile_problem(Problem(buffers=buffers, pools=[{"name": "a", "size": size}]))


@pytest.mark.parametrize("size", [None, 2**63 - 1, 2**62, 2**62 + 2**61])
def test_packed_offsets_near_two_to_the_62_do_not_overflow(size: int | None) -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        ranges = ((2**59, 2**62), (0, 4), (4, 8), (0, 62))
        drawn = [[int(rng.integers(low, high)) for low, high in ranges] for _ in range(6)]
        rows = [(size, start, end, 2**power) for size, start, end, power in drawn]
        instance = huge([*rows, (1, 0, 8, 3)], size)
        order = column(rng.permutation(len(instance)))
        for best_fit in (False, True):
            expected = naive_pack(instance, 0, order, best_fit)
            assert Packer(instance, RUNNING).pack(0, order, best_fit).tolist() == expected
            assert PlainPacker(instance).pack(0, order, best_fit).tolist() == expected
            assert PackerOfBlocks(instance, 1, False).pack(0, order, best_fit).tolist() == expected


@pytest.mark.parametrize("is_flat", [True, False])
def test_the_pack_kernel_enlarges_lists_that_exceed_their_allocated_length(is_flat: bool) -> None:
    rng = np.random.default_rng(0)
    start = rng.integers(0, 40, 700)
    table = BufferTable.from_columns(range(700), rng.integers(1, 9, 700), start, start + rng.integers(1, 40, 700))
    instance, order = compile_problem(Problem(buffers=table)), column(rng.permutation(700))
    packer = PackerOfBlocks(instance, 2, is_flat)
    assert [packer.pack(0, order).tolist() for _ in range(2)] == [PlainPacker(instance).pack(0, order).tolist()] * 2


def single_offset(body: Body, size: int) -> int:
    (page,) = body.pages
    given = {"distance": 0, "size": size, "start": 0, "end": 1, "lowest": body.lowest, "highest": body.highest}
    given |= {"step": body.step, "page": page.length, "page_shift": page.shift}
    columns = {name: column([value]) for name, value in given.items()}
    none = {name: column([]) for name in ("pair", "clearance", "grid", "share", "border")}
    firsts = {f"{name}_first": column([0, 0]) for name in ("pair", "share", "border", "barred")}
    rules = PackRules(
        **columns,
        **none,
        **firsts,
        first=column([0, 1]),
        reserved=np.zeros((0, 2), dtype=np.int64),
        barred=np.zeros((0, 2), dtype=np.int64),
        capacity=2**62,
        bank=0,
        bank_shift=0,
        width=1,
        is_flat=True,
    )
    order = PackOrder(column([0]), column([0, 1]), False, RUNNING, np.full(1, ABSENT))
    pack(Reference(rules), Reference(order))
    return int(order.offsets[0])


def test_the_pack_kernel_and_the_python_packer_agree_on_no_cross_pages() -> None:
    rng = np.random.default_rng(0)
    placed = 0
    for k in range(2000):
        length = int(rng.integers(2, 2 ** (4 + k % 54)))
        size, shift = int(rng.integers(1, length + 1)), int(rng.integers(length))
        lowest, step = int(rng.integers(2**40)), int(rng.integers(1, 2 * length))
        body = Body((0,), (0,), lowest, step, 2**61, (Page(length, shift, size),))
        expected = body.next_offset(lowest)
        assert single_offset(body, size) == (ABSENT if expected is None else expected)
        placed += expected is not None
    assert 0 < placed < 2000
