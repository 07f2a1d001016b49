"""The first bytes of files of other systems. No reader is imported here, as commands should not wait for it."""

from __future__ import annotations

import re

from memplan.planner.formats.other_files import begins_with_nodes

_XLA_TEXTS = (b"BufferAssignment:", b"HloLiveRange")
_HLO_PROTO = re.compile(rb"\n[\x80-\xff]{0,9}[\x00-\x7f]\n[\x01-\x7f][\x20-\x7e]+[\x12\x1a]")
"""A message, whose first field is a name of one line."""
_NEAR = 1 << 16
"""The bytes of a compiler's warnings that may come before its dump."""
_MLIR_BEGINNINGS = (b"//", b"#", b"module", b"builtin.module", b"util.", b"!")
_JSON = rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:%s)"\s*:'
_TVM_GRAPH = re.compile(_JSON % rb"nodes|arg_nodes|heads|node_row_ptr")
_CADENCE = re.compile(_JSON % rb"memory_\w+|base_addrs")
_TVMSCRIPT_BEGINNINGS = (b"# from tvm", b"from tvm", b"import tvm", b"@I.ir_module", b"@R.function")
_TVM_IMPORT = re.compile(rb"^\s*(?:import tvm\b|from tvm[. ]|@I\.ir_module|@tvm\.script\.)", re.MULTILINE)
_CALLS, _BLOCKS = {b"op", b"event", b"call"}, {b"id", b"address", b"ptr"}


TFLM_LINE = re.compile(
    rb"\(id=(?P<id>\d{1,9})\): size=(?P<size>\d{1,18}), offset=(?P<offset>\d{1,18}), "
    rb"first_used=(?P<first>\d{1,9}),? last_used=(?P<last>\d{1,9})"
    rb"|buffer ID: (?P<id_old>\d{1,9}), calculated offset: (?P<offset_old>\d{1,18}), size required: "
    rb"(?P<size_old>\d{1,18}), first_time_created: (?P<first_old>\d{1,9}), last_time_used: (?P<last_old>\d{1,9})"
)
"""A line of a plan that TFLite Micro prints, as it is now and as it was."""
_LIST_OF_NAMES = 1 << 20
"""The bytes at the end of an archive in which its list of names is looked for."""
_SNAPSHOT = re.compile(_JSON % rb"segments|device_traces|allocator_settings")


TFLITE_IDENTIFIER = b"TFL3"


def is_tflite(data: bytes) -> bool:
    """Return True if the bytes are a FlatBuffer with TFLite's identifier."""
    # FlatBuffers have the identifier of their schema behind the first offset.
    return data[4:8] == TFLITE_IDENTIFIER


def is_executorch(data: bytes) -> bool:
    """Return True if the bytes are a FlatBuffer with one of ExecuTorch's identifiers."""
    return data[4:6] == b"ET" and data[6:8].isdigit()


def is_tflm_log(data: bytes) -> bool:
    """Return True if a line near the beginning is of a plan that TFLite Micro prints."""
    return TFLM_LINE.search(data, 0, _NEAR) is not None


def is_torch_snapshot(data: bytes) -> bool:
    """Return True if the bytes begin as a memory snapshot of PyTorch does: a pickled dictionary, or an object."""
    is_pickle = data[:1] == b"\x80" and (b"segments" in data[:64] or b"device_traces" in data)
    return is_pickle or _SNAPSHOT.match(data) is not None


def is_torch_archive(data: bytes) -> bool:
    """Return True for a ZIP archive whose list of names, at its end, is of an exported program of PyTorch."""
    names = data[-_LIST_OF_NAMES:] if data.startswith(b"PK\x03\x04") else b""
    return b"serialized_exported_program.json" in names or (b"archive_format" in names and b"models/" in names)


def is_xla(data: bytes) -> bool:
    """Return True if the bytes begin as one of XLA's texts, or as an HloProto: a module that begins with its name."""
    return is_xla_text(data) or (_HLO_PROTO.match(data) is not None and not begins_with_nodes(data))


def is_xla_text(data: bytes) -> bool:
    """Return True if the bytes begin as XLA's text of buffers or of live ranges does."""
    return data[:100].lstrip().startswith(_XLA_TEXTS)


def is_iree(data: bytes) -> bool:
    """Return True if the bytes begin as MLIR does, or have what its compiler prints near, and packs are in them."""
    is_mlir = data[:100].lstrip().startswith(_MLIR_BEGINNINGS) or b"\n// -----// IR Dump" in data[:_NEAR]
    return is_mlir and b"stream.resource.pack" in data


def is_stablehlo(data: bytes) -> bool:
    """Return True if the bytes begin as MLIR does, and an operation of StableHLO is near."""
    return (
        data[:100].lstrip().startswith(_MLIR_BEGINNINGS) and re.search(rb"[ \"]stablehlo\.\w", data[:_NEAR]) is not None
    )


def is_tvm_graph(data: bytes) -> bool:
    """Return True if the bytes begin as a graph of TVM's graph executor does."""
    return _TVM_GRAPH.match(data) is not None


def is_cadence(data: bytes) -> bool:
    """Return True if the bytes begin as a MemoryConfig in JSON does."""
    return _CADENCE.match(data) is not None


def is_malloc_trace(data: bytes) -> bool:
    """Return True if the first line names a column of calls and one of blocks."""
    # Only the beginning is looked at: what a file is must not depend on reading all of it.
    line = data[:1000].removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").splitlines()[:1]
    names = {cell.strip(b' "') for cells in line for cell in cells.split(b",")}
    return not names.isdisjoint(_CALLS) and not names.isdisjoint(_BLOCKS)


def is_relax(data: bytes) -> bool:
    """Return True if the bytes begin as TVMScript does, or are Python with it inside, and it has functions."""
    is_begun = data[:200].lstrip().startswith(_TVMSCRIPT_BEGINNINGS) or _TVM_IMPORT.search(data, 0, _NEAR) is not None
    return is_begun and (b"@R.function" in data or b"@T.prim_func" in data)
