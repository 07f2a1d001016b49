"""The reader of graphs of operations from files, for callers of the Python package."""

from __future__ import annotations

from typing import Any

from memplan.files import Source, prefix_file_name, read_source, reader_with
from memplan.programs.inputs import read_graph as read
from memplan.programs.operations.graph import OperationGraph


def read_graph(source: Source, **options: Any) -> OperationGraph:
    """Read a graph of operations: JSON, or the operations of a model or of a program whose order is tentative.

    Parameters
    ----------
    source : bytes, str or PathLike
        The bytes of a file, or its path: a str is always a path.
    **options
        The fields of `ModelOptions`, for models only.

    Returns
    -------
    OperationGraph
        The sizes of the tensors in bytes, and the operations in the order of the file.

    Raises
    ------
    FileError
        If the file does not exist.
    FormatError, OperationsError
        If the content is not a graph, or breaks a rule of graphs.
    OptionError
        If an option is unknown or has an invalid value.
    """
    data, name = read_source(source)
    with prefix_file_name(name):
        return read(reader_with(options), data, name)
