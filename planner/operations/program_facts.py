"""Facts about a program that its statements do not say: what its file says of buffers and operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memplan.planner.errors import Location
from memplan.planner.operations.graph_facts import Attribute, TensorFacts


@dataclass(frozen=True)
class OperationFacts:
    """The facts about an operation of a file, which may be several statements of a program.

    `source` is where the file has it, as positions in lists inside each other.
    """

    name: str | None = None
    kind: str | None = None
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    source: tuple[int, ...] = ()


@dataclass(frozen=True)
class ProgramFacts:
    """The facts about a program: of the entry's buffers by id, of its statements by their location in the body.

    Statements next to each other with the very same facts are one operation of the file.
    """

    tensors: Mapping[str, TensorFacts] = field(default_factory=dict)
    operations: Mapping[Location, OperationFacts] = field(default_factory=dict)
