"""Recognition of files that memplan cannot read but that a caller gives as a problem, a plan or a model.

A file is recognised by its first bytes, by the names in its archive, or by the suffix of its name.
"""

import io
import re
from collections.abc import Mapping
from typing import NoReturn

from memplan.planner.errors import FormatError, excerpt
from memplan.planner.systems import systems

_NEAR = 1 << 12
_EXPORT = "export the model from Python, with torch.onnx.export, and give the .onnx"
_CONVERT = "convert it with tf.lite.TFLiteConverter, and give the .tflite"
_OF_WHAT = "give the .onnx or .tflite that it was made of"
_UNPACK = "unpack it, and give the file inside"
_NO_OPERATIONS = "holds weights and no operations"
_AS_JSON = "convert it to JSON"
_AS_MLIR = "print it as text: mlir_module() of what jax.export gives, or --mlir-print-ir-after-all of IREE"
_PACKED = "give what IREE prints behind its packs: iree-compile --mlir-print-ir-after=iree-stream-layout-slices"
_SOURCE = "give the file that it was made of, or write the array's bytes into one"

_BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file, such as Keras writes", _CONVERT),
    (b"GGUF", f"a GGUF file, which {_NO_OPERATIONS}", _EXPORT),
    (b"ggjt", f"a GGML file, which {_NO_OPERATIONS}", _EXPORT),
    (b"\x93NUMPY", "an array of NumPy", "give the model or the problem that it belongs to"),
    (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "a checkpoint of PyTorch, of Python objects", _EXPORT),
    (b"\x1f\x8b", "a file compressed with gzip", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "a file compressed with zstd", _UNPACK),
    (b"\xfd7zXZ\x00", "a file compressed with xz", _UNPACK),
    (b"BZh", "a file compressed with bzip2", _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"PAR1", "a table of Parquet", "write it as CSV"),
    (b"SQLite format 3", "a database of SQLite", "write its table as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old document of an office program", "save the table as CSV"),
    (b"%PDF", "a PDF", "give the file that it was printed from"),
    (b"\x89PNG", "a picture", "give the file that it was drawn from"),
    (b"\xff\xd8\xff", "a picture", "give the file that it was drawn from"),
    (b"\x7fELF", "a compiled program or library", "give the model that was compiled into it"),
    (b"ftrt", "an engine of TensorRT", _OF_WHAT),
    (b"ptrt", "an engine of TensorRT", _OF_WHAT),
    (b"RKNN", "a model compiled for a Rockchip", _OF_WHAT),
    (b"7767517", "a model of ncnn", _OF_WHAT),
    *((magic, "a model of ESP-DL", _OF_WHAT) for magic in (b"EDL1", b"EDL2", b"PDL1", b"PDL2", b"PDL3")),
    (b"\xff\xfe", "a text in UTF-16", "save it as UTF-8"),
    (b"\xfe\xff", "a text in UTF-16", "save it as UTF-8"),
    (b"ML\xefR", "MLIR in bytecode", _AS_MLIR),
)
"""The first bytes of files, each with the kind of file and a remedy."""
_VERSIONED = rb'\s*\{\s*"format"\s*:\s*"(?!memplan/)([a-z-]+/[0-9]+)"'
_PORTABLE = rb"(?s)ML\xefR.StableHLO_v"
"""The pattern of a StableHLO program within the FlatBuffer that JAX writes."""
_IDENTIFIERS: Mapping[bytes, tuple[str, str]] = {
    b"ORTM": ("a model in ONNX Runtime's own format", "give the .onnx that it was made of"),
    b"FT01": ("data of an ExecuTorch program (.ptd)", "give the program, the .pte"),
    b"CIRC": ("a model of Circle (ONE)", _OF_WHAT),
}
"""FlatBuffer identifiers, which are the bytes 4 to 7 of a file, with the kind of file and a remedy."""
_HLO_FLAGS = "--xla_dump_hlo_as_proto beside --xla_dump_to in XLA_FLAGS"
_TEXTS: tuple[tuple[bytes, str, str], ...] = (
    (
        rb"version https://git-lfs",
        "a pointer of Git LFS, which stands for the file",
        "fetch the file itself: git lfs pull",
    ),
    (
        rb"(?si)(<!--((?!-->).)*-->\s*)*<(!doctype html|html|head|body)",
        "a page in HTML, as a server sends instead of a file",
        "download the file itself (of GitHub, the raw one)",
    ),
    (rb"(<\?xml[^>]*>\s*)?<net[\s>]", "a model of OpenVINO", _OF_WHAT),
    (rb"<[?A-Za-z][\w.:-]*[\s/>]", "XML", "give a model or a problem"),
    (
        rb"HloModule\s",
        "HLO as text, which says nothing of buffers",
        f"run it with {_HLO_FLAGS}, and give the .after_optimizations.hlo.pb",
    ),
    (
        rb"(?s).{0,4000}?\baie\.(device|tile|buffer)\b",
        "MLIR of the dialect aie, whose buffers name tiles and banks, not lifetimes",
        "write its buffers as a problem, with a pool for each bank of a tile",
    ),
    (rb'((//|#)[^\n]*\n\s*)*(builtin\.)?module\b[^"]*[{@]', "MLIR whose memory is not packed yet", _PACKED),
    (
        rb"(?s)(.*\n)?// -----// IR Dump",
        "a dump of IREE without stream.resource.pack, so that nothing is there to plan",
        _PACKED,
    ),
    (rb'(name|input|layer)\s*:\s*"[^{]*\b(layers?|input_shape)\s*\{', "a network of Caffe", _OF_WHAT),
    (rb"\[(net|network)\]", "a network of Darknet", _OF_WHAT),
    (
        rb"(?i)NAME\b[^\n]*\nROWS|(min|max)imi[sz]e\b",
        "a linear program (MPS or LP)",
        "give the model or the problem of it",
    ),
    (rb"[^{]*\b(unsigned char|uint8_t|char)\s+\w+\s*\[[^\]]*\][^=;]*=", "C source with a model as an array", _SOURCE),
    (rb"(?s)\s*(#\s*include|#\s*ifndef|/\*.*?\*/\s*#)", "C source", _SOURCE),
    (
        rb"(?s)(#[^\n]*\n\s*)*(\"\"\".*?\"\"\"\s*)?(import|from) \w+",
        "Python source",
        "run it, and give the model that it writes",
    ),
    (rb'\{\s*"(format|modelTopology)"\s*:\s*("(layers|graph)-model"|\{)', "a model of TensorFlow.js", _OF_WHAT),
    (rb'\{\s*"(class_name|module)"\s*:\s*"', "a configuration of Keras", _CONVERT),
    (rb'\{\s*"(cells|nbformat)"\s*:', "a notebook", "run it, and give the model that it writes"),
    (
        rb"(?s)(.{0,4000}\n)?(Memory Configuration|Linker script and memory map)\s*\n",
        "a map of a linker, which says no lifetimes",
        "give the model, or the buffers with their lifetimes",
    ),
    (
        rb"(#[^\n]*\n\s*)*(\[\[?(?!true|false|null)[A-Za-z][\w.-]*\]\]?\s*(\n|$)|[\w-]+ *= *[\"'\[{\d])",
        "TOML",
        _AS_JSON,
    ),
    (rb"((#[^\n]*|---)\n\s*)*(?!ir_version)[A-Za-z_][\w-]*:(\s|$)", "YAML", _AS_JSON),
)
"""Patterns for the first lines of texts, each with the kind of file and a remedy; compiled on first use."""
_NAMES: Mapping[str, tuple[str, str]] = {
    ".mlmodel": ("a model of Core ML", _OF_WHAT),
    ".mlpackage": ("a model of Core ML", _OF_WHAT),
    ".caffemodel": ("weights of Caffe", _OF_WHAT),
    ".engine": ("an engine of TensorRT", _OF_WHAT),
    ".dlc": ("a model for Qualcomm's runtime", _OF_WHAT),
    ".espdl": ("a model of ESP-DL", _OF_WHAT),
    ".mnn": ("a model of MNN", _OF_WHAT),
    ".onnx.data": ("the weights of an ONNX model", "give the .onnx beside it"),
    ".onnx_data": ("the weights of an ONNX model", "give the .onnx beside it"),
    ".ckpt": ("a checkpoint", _EXPORT),
    ".pth": ("a checkpoint of PyTorch, of Python objects", _EXPORT),
    ".pt": ("a checkpoint of PyTorch, of Python objects", _EXPORT),
}
"""Suffixes of file names whose bytes do not identify the kind, each with that kind and a remedy."""
_ARCHIVES: tuple[tuple[str, str, str], ...] = (
    ("constants.pkl", "a TorchScript model, of Python code", _EXPORT),
    ("data.pkl", f"a checkpoint of PyTorch, which {_NO_OPERATIONS}", _EXPORT),
    ("model.weights.h5", "a model of Keras", _CONVERT),
    (".npy", "arrays of NumPy", "give the model or the problem that they belong to"),
    ("xl/workbook.xml", "a spreadsheet", "save the table as CSV"),
    ("saved_model.pb", "a SavedModel of TensorFlow, packed", _CONVERT),
    (".mlmodel", "a model of Core ML, packed", _OF_WHAT),
)
"""Suffixes of names within ZIP archives, each with the kind of archive and a remedy."""


def refuse_other_files(data: bytes, name: str | None = None) -> None:
    """Raise FormatError, with a remedy, for an empty file or a file of a known kind that memplan cannot read."""
    if not data.strip():
        raise FormatError(
            "must not be empty", way="the file may be cut short or not yet written; make or fetch it again"
        )
    kind = foreign_kind(data, name)
    if kind is not None:
        raise FormatError(f"must be a file that memplan reads, got {kind[0]}; {kind[1]}")


def refuse_unknown(data: bytes) -> NoReturn:
    """Raise FormatError for a file of an unknown kind; the message lists the readable formats."""
    kinds = ", ".join(each.title for each in systems() if each.files)
    read = f"problems and plans of memplan (.json, .csv), and files of {kinds}"
    raise FormatError(
        f"must be of a known format, got {excerpt(data[:20])}; known are {read}; docs/reference.md lists the suffixes"
        " of each"
    )


def foreign_kind(data: bytes, name: str | None = None) -> tuple[str, str] | None:
    """Return (kind, remedy) for a file that memplan recognises but cannot read; None if its kind is unknown."""
    for beginning, what, instead in _BEGINNINGS:
        if data.startswith(beginning):
            return what, instead
    if data[4:8] in _IDENTIFIERS:
        return _IDENTIFIERS[data[4:8]]
    if data.startswith(b"PK\x03\x04"):
        return _archive_kind(data)
    if data[257:262] == b"ustar":
        return "an archive of tar", _UNPACK
    if versioned := re.match(_VERSIONED, data):
        return f"a file of {versioned[1].decode()}", "use the memplan of the version that wrote it"
    if data[8:10] in (b'{"', b"{ ") and int.from_bytes(data[:8], "little") <= len(data) - 8:
        return f"a file of safetensors, which {_NO_OPERATIONS}", _EXPORT
    if begins_with_description(data):
        is_tensorflow = data[1] == 1 and not (name or "").lower().endswith(".mlmodel")
        return ("a SavedModel of TensorFlow", _CONVERT) if is_tensorflow else _NAMES[".mlmodel"]
    if re.search(_PORTABLE, data) and int.from_bytes(data[:4], "little") < len(data):
        return "what exported.serialize() of JAX gives", "print it as text: exported.mlir_module()"
    if begins_with_nodes(data):
        return "a frozen graph of TensorFlow", _CONVERT
    text = data[:_NEAR].removeprefix(b"\xef\xbb\xbf").lstrip()
    for pattern, what, instead in _TEXTS:
        if re.match(pattern, text):
            return what, instead
    if data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a pickle, of Python objects that nobody should load for others", _EXPORT
    return next((kind for ending, kind in _NAMES.items() if (name or "").lower().endswith(ending)), None)


def begins_with_description(data: bytes) -> bool:
    """Return True if the bytes start with two Protocol Buffers fields: a version number, then a message.

    SavedModel and Core ML files start with these fields; in ONNX, a string follows the version.
    """
    if data[:1] != b"\x08" or data[2:3] != b"\x12":
        return False
    at = _varint_end(data, 3)
    return data[at : at + 1] == b"\n"


def begins_with_nodes(data: bytes) -> bool:
    """Return True if the bytes start with two messages that each begin with a name, as TensorFlow's nodes do.

    The bytes of an HloProto start with only one message of this form.
    """
    if data[:1] != b"\n":
        return False
    at = _varint_end(data, 1)
    end = at + sum((byte & 0x7F) << (7 * k) for k, byte in enumerate(data[1:at]))
    return data[at : at + 1] == b"\n" == data[end : end + 1]


def _varint_end(data: bytes, at: int) -> int:
    return at + 1 + next((k for k, byte in enumerate(data[at : at + 9]) if byte < 0x80), 9)


def _archive_kind(data: bytes) -> tuple[str, str]:
    """Return (kind, remedy) for a ZIP archive, derived from the names of its members."""
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, EOFError):
        return "a ZIP archive that is cut short", "fetch it again"
    for ending, what, instead in _ARCHIVES:
        if any(name.endswith(ending) for name in names):
            return what, instead
    return f"a ZIP archive of {len(names)} files", _UNPACK
