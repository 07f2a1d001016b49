"""The capability `convert`: a problem, or the one that a model poses, in another format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from memplan.capabilities.capability import Answer, Capability, CapabilityOptions, Control
from memplan.capabilities.inputs import PROBLEM
from memplan.capabilities.reading import Reader
from memplan.planner import formats
from memplan.planner.errors import FormatError, OptionError
from memplan.planner.model.problem import Problem
from memplan.planner.operations.graph import write_graph
from memplan.systems.model_graph import graph_of_imported

if TYPE_CHECKING:
    FormatName = str
else:  # each name that the table of formats has
    FormatName = Literal[tuple(formats.FORMATS)]


class ConvertOptions(CapabilityOptions):
    """Options of a conversion."""

    format: FormatName | None = Field(
        None, description="The format to write: by the file's name, if there is one, or JSON."
    )


class Converted(Answer):
    """A problem as the text of a file."""

    format: FormatName
    text: str


def convert(problem: Problem, options: ConvertOptions = ConvertOptions(), control: Control = Control()) -> Converted:
    """Write a problem in another format, if that can say all of it; of a model, the problem that it poses."""
    chosen = options.format or "json"
    return Converted(format=chosen, text=formats.FORMATS[chosen].write_problem(problem).decode())


def graph_of(reader: Reader, chosen: str) -> bytes:
    """Return the graph of operations of the model that was read; raises InputError."""
    if reader.imported is None:
        raise OptionError("graph: must be asked of a model, got a problem")
    if chosen != "json":
        raise FormatError(f"must be JSON where a graph is written, got {chosen}")
    return write_graph(graph_of_imported(reader.imported).graph)


def operations_of(reader: Reader, chosen: str) -> bytes:
    """Return the operations of the model that was read; raises InputError."""
    found = None if reader.imported is None else reader.imported.operations
    if found is None:
        raise OptionError("operations: must be asked of a file that tells operations, not lifetimes only")
    if chosen != "json":
        raise FormatError(f"must be JSON where operations are written, got {chosen}")
    return found.model_dump_json(exclude_defaults=True).encode() + b"\n"


def lines(found: Converted) -> Iterator[str]:
    """Yield the lines of the file."""
    yield from found.text.splitlines()


CAPABILITY = Capability(
    convert,
    inputs=(PROBLEM,),
    lines=lines,
    example={"problem": {"buffers": [{"id": "conv1", "size": 64, "start": 0, "end": 3}]}},
)
