"""The registration of ONNX models, and of ONNX Runtime's allocation plans and memory pattern planner."""

from memplan.planner.formats.other_files import begins_with_description
from memplan.planner.systems import FileReader, ReferencePlanner, System


def is_onnx(data: bytes) -> bool:
    """Return True if the bytes begin like an ONNX file: with an IR version, then a producer or an opset."""
    # An ONNX model starts with ir_version (field 1, a varint), followed by a text field or the opsets.
    is_begun = len(data) > 3 and data[0] == 0x08 and 0 < data[1] < 64 and data[2] in (0x12, 0x3A, 0x42)
    return is_begun and not begins_with_description(data)


def is_plan(data: bytes) -> bool:
    """Return True if the bytes contain the heading of an allocation plan that ONNX Runtime prints."""
    return b"(ort_value_idx) output_name : <allocation plan>" in data


SYSTEM = System(
    name="onnx",
    title="ONNX",
    files=".onnx, and allocation plans of such as ONNX Runtime prints them",
    readers=(
        FileReader(
            name="onnx",
            recognises=is_onnx,
            where="memplan.runtimes.onnx.reader",
            suffixes=(".onnx",),
            package="onnx",
            has_symbols=True,
            options=frozenset({"scratch", "views"}),
        ),
        FileReader(
            "onnxruntime-plan",
            is_plan,
            "memplan.runtimes.onnx.allocation_plan",
            of="onnx",
            options=frozenset({"views"}),
        ),
    ),
    planners=(
        ReferencePlanner(
            "reference:onnxruntime-memory-pattern",
            "earliest first, into the smallest gap, in blocks of 256 bytes (ONNX Runtime)",
            "microsoft/onnxruntime, core/framework/mem_pattern_planner.h; pull request 32071 for workspaces",
            "memplan.runtimes.onnx.planner:memory_pattern",
            other_names="onnxruntime ort",
        ),
    ),
    reorders="memplan.runtimes.onnx.reordered:set_orders",
)
