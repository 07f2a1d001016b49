"""The rows that register systems: their file readers, the tests that recognise these files, and their planners.

The rows of tinygrad and XLA are in separate modules, because they need more code.
"""

import re

from memplan.planner.extensions import Hook
from memplan.planner.foreign.recognition import NEAR, begins_as_mlir
from memplan.planner.formats.memplan_json import IOPDDL
from memplan.planner.systems import ANY, FileReader, ReferencePlanner, System
from memplan.runtimes.tinygrad.system import SYSTEM as TINYGRAD
from memplan.runtimes.xla.system import SYSTEM as XLA

_DSA = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:instance|metadata|schema_version|profile)"\s*:')
_IOPDDL = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*" + IOPDDL)


def is_dsa(data: bytes) -> bool:
    """Return True if the bytes start like a problem of dsa-solver and contain the key "live_intervals"."""
    return _DSA.match(data) is not None and b'"live_intervals"' in data


def is_ggml(data: bytes) -> bool:
    """Return True if the bytes start like a graph that `graph_json.h` wrote."""
    return data.startswith(b'{"format": "ggml-graph/1"')


def is_iopddl(data: bytes) -> bool:
    """Return True if the bytes start like an IOPDDL problem."""
    return _IOPDDL.match(data) is not None


def is_iree(data: bytes) -> bool:
    """Return True if the bytes start like MLIR or a dump of IREE, and contain packs."""
    return (begins_as_mlir(data) or b"\n// -----// IR Dump" in data[:NEAR]) and b"stream.resource.pack" in data


def is_pto(data: bytes) -> bool:
    """Return True if the bytes contain operations or memories of PTO's dialect of MLIR."""
    return b" pto." in data or b"#pto." in data


def is_stablehlo(data: bytes) -> bool:
    """Return True if the bytes start like MLIR, and name StableHLO, CHLO, MHLO or JAX near the start."""
    return begins_as_mlir(data) and re.search(rb"\b(?:stablehlo|chlo|mhlo|jax)\.\w", data[:NEAR]) is not None


def is_tilelang(data: bytes) -> bool:
    """Return True if the bytes contain a TVMScript function whose buffers have addresses."""
    return b"@T.prim_func" in data and b'"address_map": {' in data


def _nntrainer_planner(name: str, summary: str, file: str) -> ReferencePlanner:
    where = f"memplan.runtimes.nntrainer.planner:{name}"
    source = f"nnstreamer/nntrainer 65dccdec, nntrainer/tensor/{file}.cpp"
    return ReferencePlanner(f"reference:nntrainer-{name}", f"{summary} (nntrainer)", source, where)


SYSTEMS = (
    System(
        name="dsa",
        title="dsa-solver",
        files=".json of its problems, such as PyPTO writes",
        readers=(FileReader("dsa", is_dsa, "memplan.runtimes.dsa.reader"),),
        planners=(
            ReferencePlanner(
                "reference:dsa-canonical-greedy",
                "in several orders, each buffer where it pays least, at 0 or on a neighbour (dsa-solver)",
                "tonibohnlein/dsa-solver a8d1257, src/dsa/algorithms/reuse_penalty_baseline_solvers.cpp",
                Hook("canonical-greedy"),
                can=ANY | {"pools", "conflicts", "holes", "reserved", "reuse"},
                other_names="dsa-rp pypto reuse-penalty",
            ),
        ),
    ),
    System(
        name="ggml",
        title="ggml",
        files="graphs that `graph_json.h` writes",
        readers=(
            FileReader(
                "ggml",
                is_ggml,
                "memplan.runtimes.ggml.reader",
                has_symbols=True,
                options=frozenset({"views"}),
                planner="reference:ggml-allocator",
            ),
        ),
        planners=(
            ReferencePlanner(
                "reference:ggml-allocator",
                "over time, each into the smallest free block (ggml's graph allocator)",
                "ggml-org/ggml d99724f2, src/ggml-alloc.c",
                "memplan.runtimes.ggml.planner:best_fit",
                other_names="llama.cpp whisper.cpp",
            ),
        ),
    ),
    System(
        name="iopddl",
        title="IOPDDL",
        files="problems of the contest, with a solution or without",
        readers=(FileReader("iopddl", is_iopddl, "memplan.runtimes.iopddl.reader"),),
    ),
    System(
        name="iree",
        title="IREE",
        files=".mlir, after it packed",
        readers=(FileReader("iree", is_iree, "memplan.runtimes.iree.reader", suffixes=(".mlir",)),),
    ),
    System(
        name="luminal",
        title="luminal",
        planners=(
            ReferencePlanner(
                "reference:luminal-arena",
                "over time, each into the lowest hole (luminal's arena)",
                "luminal-ai/luminal 051a0f94, crates/luminal_cuda_lite/src/arena.rs: plan_arena_over, FreeList",
                "memplan.runtimes.online:place_as_luminal",
            ),
        ),
    ),
    System(
        name="mlir",
        title="MLIR",
        planners=(
            ReferencePlanner(
                "reference:mlir-best-fit",
                "earliest first, into the smallest gap between what is alive (MLIR's static memory planner)",
                "llvm/llvm-project ae2d14a6, mlir/lib/Dialect/Bufferization/Transforms/StaticMemoryPlanning.cpp",
                "memplan.runtimes.mlir.planner:best_fit",
                other_names="llvm mlir static-memory-planner",
            ),
        ),
    ),
    System(
        name="nntrainer",
        title="nntrainer",
        planners=(
            _nntrainer_planner("basic", "one behind the other", "basic_planner"),
            _nntrainer_planner("v1", "over time, where one of the same size lay", "optimized_v1_planner"),
            _nntrainer_planner("v2", "the same, and gradients of weights over one another", "optimized_v2_planner"),
            _nntrainer_planner("v3", "over time, each into the lowest gap", "optimized_v3_planner"),
        ),
    ),
    System(
        name="openvino",
        title="OpenVINO",
        planners=(
            ReferencePlanner(
                "reference:openvino-memory-solver",
                "largest first, each as low as it can lie (OpenVINO's MemorySolver)",
                "openvinotoolkit/openvino 138a71f0, src/inference/dev_api/openvino/runtime/memory_solver.hpp",
                "memplan.runtimes.by_size:place_as_openvino",
            ),
        ),
    ),
    System(
        name="pto",
        title="PTO",
        files=".pto kernels as PTOAS prints them, with addresses or without",
        writers={"pto": "memplan.runtimes.pto.writer:write_addresses"},
        readers=(
            FileReader("pto", is_pto, "memplan.runtimes.pto.reader", suffixes=(".pto",), options=frozenset({"views"})),
        ),
    ),
    System(
        name="stablehlo",
        title="StableHLO",
        files=".mlir",
        readers=(
            FileReader(
                "stablehlo",
                is_stablehlo,
                "memplan.runtimes.stablehlo.reader",
                has_symbols=True,
                options=frozenset({"scratch", "views"}),
            ),
        ),
    ),
    System(
        name="tilelang",
        title="TileLang",
        files=".tir of kernels for Ascend, with addresses",
        readers=(
            FileReader(
                "tilelang",
                is_tilelang,
                "memplan.runtimes.tilelang.reader",
                suffixes=(".tir",),
                options=frozenset({"views"}),
            ),
        ),
    ),
    TINYGRAD,
    System(
        name="ttlang",
        title="tt-lang",
        planners=(
            ReferencePlanner(
                "reference:ttlang-multi-order-decreasing",
                "largest first, each into the lowest gap; equal sizes in two orders (tt-lang's SRAMAllocator)",
                "tenstorrent/tt-lang pull request 1025, SRAMAllocator: MultiOrderDecreasingAllocator",
                "memplan.runtimes.by_size:place_as_ttlang",
                other_names="tt-lang tenstorrent",
            ),
        ),
    ),
    System(
        name="vela",
        title="Vela",
        planners=(
            ReferencePlanner(
                "reference:vela-hill-climb",
                "first fit, in an order learnt from the highest buffer (Vela, the compiler for Ethos-U)",
                "ethos-u-vela 5.2.0, ethosu/vela/hillclimb_allocation.py: HillClimbAllocator",
                "memplan.runtimes.vela.planner:hill_climb",
                other_names="vela ethos-u",
            ),
        ),
    ),
    XLA,
    System(
        name="xnnpack",
        title="XNNPACK",
        planners=(
            ReferencePlanner(
                "reference:xnnpack-memory-planner",
                "largest first, each into the smallest gap (XNNPACK's runtime)",
                "google/XNNPACK 75db3c09, src/memory-planner.c: xnn_plan_value_allocation_tracker",
                "memplan.runtimes.by_size:place_as_xnnpack",
            ),
        ),
    ),
)
"""The rows of these systems; files are recognised in this order."""
