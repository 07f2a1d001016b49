"""Reader of graphs of operations from files, for callers of the Python package."""

from __future__ import annotations

from typing import Any

from memplan.extensions.networks.inputs import read_graph as read
from memplan.extensions.networks.operations.graph import OperationGraph
from memplan.files import Source, contents, prefix_file_name, reader_with


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
        Tensors by their bytes, and operations in the given order.

    Raises
    ------
    FileError
        Where there is no such file.
    FormatError, OperationsError
        Where it is no graph, or breaks a rule.
    OptionError
        Where an option is wrong.
    """
    data, name = contents(source)
    with prefix_file_name(name):
        return read(reader_with(options), data, name)
