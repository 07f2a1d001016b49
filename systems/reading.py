"""Models and dumps of other systems: bytes in, a problem out; one module a format.

Nothing here opens a file. A format's own parser is an extra, and is imported by the function that needs it. What cannot
be read raises an InputError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from memplan.planner import formats
from memplan.planner.errors import OptionError
from memplan.planner.formats import memplan_json
from memplan.planner.formats.other_files import begins_with_description, refuse_other_files, refuse_unknown
from memplan.systems.border import stranger_bytes
from memplan.systems.recognition import (
    is_cadence,
    is_executorch,
    is_iree,
    is_malloc_trace,
    is_relax,
    is_stablehlo,
    is_tflite,
    is_tflm_log,
    is_torch_archive,
    is_torch_snapshot,
    is_tvm_graph,
    is_xla,
)

if TYPE_CHECKING:
    from memplan.planner.model.intervals import Interval
    from memplan.planner.model.problem import Problem
    from memplan.systems.imported import Imported, ImportOptions


@dataclass(frozen=True)
class Importer:
    """A format: the endings of its files' names, their first bytes, and the module that reads them, imported then.

    `recognises` is True for bytes that begin as this format does, and no other. That of idealloc is known by name only.
    `package` is a parser of others, which takes its time to import.
    """

    suffixes: tuple[str, ...]
    recognises: Callable[[bytes], bool]
    where: str
    package: str | None = None

    def read(self, data: bytes, options: ImportOptions) -> Imported:
        """Read a model; raises InputError."""
        read: Callable[[bytes, ImportOptions], Imported] = import_module(self.where).read
        with stranger_bytes():
            return read(data, options)


def begins_with(*beginnings: bytes) -> Callable[[bytes], bool]:
    """Return a test for bytes that begin so; for none where nothing is given, and only names say."""
    return lambda data: data.startswith(beginnings)


def _is_onnx(data: bytes) -> bool:
    """Return True if the bytes begin as ONNX files do: an IR version, and a producer or an opset."""
    # An ONNX model begins with its ir_version (field 1, a varint), then a text, or the opsets.
    is_begun = len(data) > 3 and data[0] == 0x08 and 0 < data[1] < 64 and data[2] in (0x12, 0x3A, 0x42)
    return is_begun and not begins_with_description(data)


IMPORTERS: Mapping[str, Importer] = {
    "tflite": Importer((".tflite", ".lite"), is_tflite, "memplan.systems.tflite.reader"),
    "onnx": Importer((".onnx",), _is_onnx, "memplan.systems.onnx.reader", "onnx"),
    "executorch": Importer((".pte",), is_executorch, "memplan.systems.executorch.reader"),
    "xla": Importer((".hlo.pb",), is_xla, "memplan.systems.xla.reader"),
    "iree": Importer((".mlir",), is_iree, "memplan.systems.iree.reader"),
    "stablehlo": Importer((), is_stablehlo, "memplan.systems.stablehlo.reader"),
    "tvm": Importer((".graph",), is_tvm_graph, "memplan.systems.tvm.reader"),
    "relax": Importer((".relax",), is_relax, "memplan.systems.tvm.relax"),
    "cadence": Importer((), is_cadence, "memplan.systems.cadence.reader"),
    "malloc": Importer((), is_malloc_trace, "memplan.systems.malloc_trace"),
    "tflm-log": Importer((), is_tflm_log, "memplan.systems.tflite.tflm_log"),
    "torch-export": Importer((".pt2",), is_torch_archive, "memplan.systems.torch.archive"),
    "torch-snapshot": Importer((), is_torch_snapshot, "memplan.systems.torch.snapshot"),
    "idealloc": Importer((".in.csv",), begins_with(), "memplan.systems.idealloc_csv"),
}


def detect(data: bytes, name: str | None = None) -> str | None:
    """Return the importer for a file by what is in it, else by how its name ends; None where there is none.

    Raises FormatError for a file of a kind that nothing reads, which says what it is.
    """
    for known, importer in IMPORTERS.items():
        if importer.recognises(data):
            return known
    refuse_other_files(data, name)
    return _by_name(name)


def _by_name(name: str | None) -> str | None:
    ending = (name or "").lower()
    return next((known for known, importer in IMPORTERS.items() if ending.endswith(importer.suffixes)), None)


def load(name: str | None) -> None:
    """Import what reads the files of such a name, where it is installed: a reader says what is not."""
    if (known := _by_name(name)) is not None:
        import_module(IMPORTERS[known].where)
        if (package := IMPORTERS[known].package) is not None:
            with suppress(ModuleNotFoundError):
                import_module(package)


def read_problem(
    data: bytes, name: str | None = None, options: ImportOptions | None = None, interval: Interval | None = None
) -> tuple[Problem, Imported | None]:
    """Return the problem in the bytes of a file and, if operations pose it, all that was read; raises InputError.

    A file is a problem, a model or dump of another system, or operations of memplan's own. `options` are for reading
    operations, and `interval` is for a problem that does not say it.
    """
    if detect(data, name) is not None:
        imported = read_model(data, name, options)
        return imported.problem, imported
    if (b'"functions"' in data or b'"models"' in data) and formats.detect(data, name) == "json":
        value = memplan_json.parse(data)
        from memplan.systems.programs import poses_a_problem, problem_from

        if poses_a_problem(value):
            return problem_from(value, options)
    return formats.read_problem(data, name, interval), None


def read_model(data: bytes, name: str | None = None, options: ImportOptions | None = None) -> Imported:
    """Read a model from the bytes of a file, and its name if it has one; raises InputError."""
    found = detect(data, name)
    if found is None:
        refuse_unknown(data)
    if options is None:
        from memplan.systems.imported import ImportOptions

        options = ImportOptions()
    if options.shape and found != "onnx":
        raise OptionError(f"shape: must be given for ONNX models only, got a file of {found}")
    if options.scratch and found != "tflite":
        raise OptionError(f"scratch: must be given for TensorFlow Lite models only, got a file of {found}")
    return IMPORTERS[found].read(data, options)
