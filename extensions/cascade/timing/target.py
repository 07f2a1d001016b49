"""Targets: machines with two or three memories, the links between the memories, and an engine that computes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from memplan.planner.errors import Location, raise_rules
from memplan.planner.model.rows import MAX_BYTES, Alignment, Bytes, Name, Value, tuple_from_list

MOST_SIDE = 2**20
"""The maximum side of a tensor or of a native tile, in rows or columns."""
Side = Annotated[int, Field(ge=1, le=MOST_SIDE)]
Rate = Annotated[float, Field(gt=0, le=float(MAX_BYTES), allow_inf_nan=False, strict=False)]
Time = Annotated[float, Field(ge=0, le=float(MAX_BYTES), allow_inf_nan=False, strict=False)]


class Memory(Value):
    """A memory: its size (unlimited if absent), and the multiple of bytes to which slots in it are rounded up."""

    name: Name
    capacity: Bytes | None = None
    alignment: Alignment = 1


class Link(Value):
    """A link between two memories: bytes per unit of time, and the latency of a transfer.

    A transfer consists of whole bursts of `burst` bytes.
    """

    bandwidth: Rate
    latency: Time = 0.0
    burst: Annotated[int, Field(ge=1, le=MAX_BYTES)] = 1

    def time(self, size: Any) -> Any:
        """Return the time to transfer `size` bytes (a number or an array of numbers); 0 for 0 bytes."""
        return (size > 0) * (self.latency + -(-size // self.burst) * self.burst / self.bandwidth)


class Engine(Value):
    """An engine: the width and height of its native tile, and the number of copies of a streamed slot that it uses.

    With two copies, the next piece is loaded while the engine works on the present one. `rate` is the number of
    multiplications per unit of time, for networks, whose operations have no times; `rates` has other rates by kind.
    """

    native: Annotated[tuple[Side, Side], BeforeValidator(tuple_from_list)]
    copies: Annotated[int, Field(ge=1, le=2)] = 1
    rate: Rate | None = None
    rates: dict[Name, Rate] = Field({}, exclude_if=lambda rates: not rates)

    def rate_of(self, kind: str) -> float:
        """Return the engine's multiplications per unit of time for operations of a kind."""
        return self.rates.get(kind, self.rate or 1.0)

    @property
    def width(self) -> int:
        """The number of columns of a native tile."""
        return self.native[0]

    @property
    def height(self) -> int:
        """The number of rows of a native tile."""
        return self.native[1]


class Target(Value):
    """A machine: a fast memory, then slower ones, the links between neighbours, and an engine.

    Networks may have three memories: tensors in the last one pass through the second one. Tensors that a step retains
    stay for the next step only, or until their last reader if `residency` is several steps.
    """

    name: Name | None = None
    memories: Annotated[tuple[Memory, ...], BeforeValidator(tuple_from_list)]
    links: Annotated[tuple[Link, ...], BeforeValidator(tuple_from_list)]
    engine: Engine
    residency: Literal["one step", "several steps"] = "one step"

    @model_validator(mode="after")
    def _require_memories_and_links(self) -> Target:
        """Return the target; raise a validation error if its memories and links do not fit together."""
        breaks: list[tuple[Location, str]] = []
        last = len(self.memories) - 1
        if last not in (1, 2):
            breaks.append((("memories",), f"must be two or three memories, fastest first, got {last + 1}"))
        for k, memory in enumerate(self.memories):
            if memory.capacity is None and k < last:
                breaks.append((("memories", k, "capacity"), "is required for all but the last memory"))
            elif memory.capacity is not None and k == last:
                rule = "must be omitted, because the last memory is unlimited"
                breaks.append((("memories", k, "capacity"), rule))
        if len(self.links) != last:
            breaks.append(
                (("links",), f"must be one link for each two neighbouring memories ({last}), got {len(self.links)}")
            )
        if breaks:
            raise_rules(*breaks)
        return self

    @property
    def capacity(self) -> int:
        """The size of the fast memory in bytes."""
        return self.memories[0].capacity or 0

    def with_capacity(self, capacity: int) -> Target:
        """Return the target with another size of the fast memory, in bytes."""
        fast, *others = self.memories
        return self.model_copy(update={"memories": (fast.model_copy(update={"capacity": capacity}), *others)})

    @property
    def keeps(self) -> bool:
        """True if tensors may stay in the fast memory for more than one step."""
        return self.residency == "several steps"

    @property
    def alignment(self) -> int:
        """The alignment of slots (buffers) in the fast memory, in bytes."""
        return self.memories[0].alignment

    @property
    def link(self) -> Link:
        """The link between the fast and the slow memory."""
        return self.links[0]

    @property
    def has_three(self) -> bool:
        """True if the target has three memories: fast, second and last."""
        return len(self.memories) == 3

    def round_size(self, size: int, memory: int = 0) -> int:
        """Return a size in bytes rounded up to the alignment of a memory, by default of the fast one."""
        alignment = self.memories[memory].alignment
        return -(-size // alignment) * alignment
