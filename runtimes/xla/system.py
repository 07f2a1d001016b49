"""The registration of XLA: readers of buffer assignments, binary or as text, and its planners."""

import re

from memplan.planner.formats.other_files import begins_with_nodes
from memplan.planner.systems import FileReader, ReferencePlanner, System

_SOURCE = "openxla/xla 16569562fc04, xla/service/heap_simulator.cc"
_TEXTS = (b"BufferAssignment:", b"HloLiveRange")
_HLO_PROTO = re.compile(rb"\n[\x80-\xff]{0,9}[\x00-\x7f]\n[\x01-\x7f][\x20-\x7e]+[\x12\x1a]")
"""Matches the start of a protocol buffer message whose first field is a one-line name."""


def is_xla(data: bytes) -> bool:
    """Return True if the bytes start like one of XLA's texts, or like an HloProto with the name of its module."""
    return is_xla_text(data) or (_HLO_PROTO.match(data) is not None and not begins_with_nodes(data))


def is_xla_text(data: bytes) -> bool:
    """Return True if the bytes start like XLA's text of a buffer assignment or of live ranges."""
    return data[:100].lstrip().startswith(_TEXTS)


SYSTEM = System(
    name="xla",
    title="XLA",
    files=".hlo.pb, or text of its buffer assignment",
    readers=(
        FileReader(
            "xla",
            is_xla,
            "memplan.runtimes.xla.reader",
            suffixes=(".hlo.pb",),
            program="memplan.runtimes.xla.module:read_module",
        ),
    ),
    planners=(
        ReferencePlanner(
            "reference:xla-best-fit-by-size",
            "largest first, into the smallest gap (XLA)",
            f"{_SOURCE}: GlobalDecreasingSizeBestFitHeap, kSpatial",
            "memplan.runtimes.xla.planner:best_fit_by_size",
        ),
        ReferencePlanner(
            "reference:xla-best-fit-by-life",
            "longest alive first, into the smallest gap (XLA)",
            f"{_SOURCE}: GlobalDecreasingSizeBestFitHeap, kTemporal",
            "memplan.runtimes.xla.planner:best_fit_by_life",
        ),
        ReferencePlanner(
            "reference:xla-best-fit",
            "the smaller of both, as the compiler takes it (XLA)",
            f"{_SOURCE}: ChooseBestHeapAlgorithm; xla/service/buffer_assignment.cc",
            "memplan.runtimes.xla.planner:best_fit",
            other_names="xla best-fit-by-size",
        ),
    ),
)
