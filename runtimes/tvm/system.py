"""Registers TVM's readers of executor graphs and Relax programs, and the planners of USMP and Relay."""

import re

from memplan.planner.foreign.recognition import JSON, NEAR
from memplan.planner.systems import ANY, FileReader, ReferencePlanner, System

_GRAPH = re.compile(JSON % rb"nodes|arg_nodes|heads|node_row_ptr")
_SCRIPTS = (b"# from tvm", b"from tvm", b"import tvm", b"@I.ir_module", b"@R.function")
_IMPORT = re.compile(rb"^[ \t]*(?:import tvm\b|from tvm[. ]|@I\.ir_module|@tvm\.script\.)", re.MULTILINE)
_ADDRESSES = b'"address_map": {'
"""A text that only TVMScript files of other compilers contain, whose buffers already have addresses."""
_USMP = "apache/tvm v0.16.0, src/tir/usmp/algo"


def is_tvm_graph(data: bytes) -> bool:
    """Return True if the bytes start like a graph of TVM's graph executor."""
    return _GRAPH.match(data) is not None


def is_relax(data: bytes) -> bool:
    """Return True if the bytes contain TVMScript functions, and start like TVMScript or import it as Python code."""
    is_begun = data[:200].lstrip().startswith(_SCRIPTS) or _IMPORT.search(data, 0, NEAR) is not None
    return is_begun and (b"@R.function" in data or b"@T.prim_func" in data) and _ADDRESSES not in data


def _usmp_planners(name: str, summary: str, source: str, more: str = "") -> tuple[ReferencePlanner, ReferencePlanner]:
    source, function = f"{_USMP}/{source}", f"memplan.runtimes.tvm.usmp.planners:{name.replace('-', '_')}"
    own, rounded = "the same, rounded to the buffer's own alignment", f"{source}, but for the rounding"
    can = ANY | {"pools", "conflicts", "holes"}
    return (
        ReferencePlanner(f"reference:tvm-{name}", summary, source, function, can, f"{name} tvm-{name}{more}"),
        ReferencePlanner(f"reference:tvm-{name}-own-alignment", own, rounded, f"{function}_own_alignment", can),
    )


SYSTEM = System(
    name="tvm",
    title="TVM",
    files=".graph, .relax",
    readers=(
        FileReader(
            "tvm",
            is_tvm_graph,
            "memplan.runtimes.tvm.reader",
            suffixes=(".graph",),
            options=frozenset({"views"}),
        ),
        FileReader(
            "relax",
            is_relax,
            "memplan.runtimes.tvm.relax",
            suffixes=(".relax",),
            has_symbols=True,
            options=frozenset({"views"}),
        ),
    ),
    planners=(
        *_usmp_planners(
            "greedy-by-size",
            "largest first, above all its conflicts, rounded to their alignment (TVM USMP)",
            "greedy.cc: GreedySize",
            " usmp tvm",
        ),
        *_usmp_planners(
            "greedy-by-conflicts",
            "most conflicts first, above all of them, rounded to their alignment (TVM USMP)",
            "greedy.cc: GreedyConflicts",
        ),
        *_usmp_planners(
            "hill-climb",
            "first fit, in an order changed by at most 500 swaps below the top (TVM USMP)",
            "hill_climb.cc: HillClimbAllocator",
        ),
        ReferencePlanner(
            "reference:relay-storage-tokens",
            "whole storages handed on, each buffer at the start of one (TVM Relay, graph executor)",
            "apache/tvm v0.14.0, src/relay/backend/graph_plan_memory.cc and token_allocator.cc: TokenAllocator1D",
            "memplan.runtimes.tvm.relay_planner:storage_tokens",
            other_names="graphplanmemory relay storage-tokens",
        ),
    ),
    writers={"mlf": "memplan.planner.foreign.lists:write_mlf"},
    other_targets={"mlf": "tvm microtvm usmp"},
)
