"""Targets: machines with two or three memories, the links between the memories, and an engine that computes."""

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
    """A memory of a machine."""

    name: Name
    """The name of the memory, such as `L1`."""
    capacity: Bytes | None = None
    """The size in bytes; required for all memories but the last one, which is unlimited."""
    alignment: Alignment = 1
    """The sizes and offsets of slots in the memory are multiples of this number of bytes."""


class Link(Value):
    """A link between two memories."""

    bandwidth: Rate
    """The bytes that it moves per unit of time, such as 16."""
    latency: Time = 0.0
    """The time of a transfer before its first byte, in units of time."""
    burst: Annotated[int, Field(ge=1, le=MAX_BYTES)] = 1
    """The bytes of a transfer are rounded up to a multiple of this number."""

    def time(self, size: Any) -> Any:
        """Return the time to transfer `size` bytes (a number or an array of numbers); 0 for 0 bytes."""
        return (size > 0) * (self.latency + -(-size // self.burst) * self.burst / self.bandwidth)


class Engine(Value):
    """The unit of a machine that computes."""

    native: Annotated[tuple[Side, Side], BeforeValidator(tuple_from_list)]
    """The width and height of its native tile, in columns and rows, such as [16, 16]."""
    copies: Annotated[int, Field(ge=1, le=2)] = 1
    """The number of copies of each slot that is filled repeatedly; with 2, the next piece is loaded while the engine
    works on the present one."""
    rate: Rate | None = None
    """The number of multiplications per unit of time, such as 256; cascades and schedules require it."""
    rates: dict[Name, Rate] = Field({}, exclude_if=lambda rates: not rates)
    """Other rates by the kind of operation, such as {"depthwise_conv2d": 64}."""

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
    """A machine: its memories, the links between them, and an engine."""

    name: Name | None = None
    """The name of the machine."""
    memories: Annotated[tuple[Memory, ...], BeforeValidator(tuple_from_list)]
    """Two or three memories, the fastest first; tensors in the third one pass through the second one."""
    links: Annotated[tuple[Link, ...], BeforeValidator(tuple_from_list)]
    """The link between each memory and the next one."""
    engine: Engine
    """The unit that computes."""
    residency: Literal["one step", "several steps"] = "one step"
    """How long a tensor that a step retains stays in the fast memory: for the next step only, or until its last
    reader."""

    @model_validator(mode="after")
    def _require_memories_and_links(self) -> "Target":
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

    def with_capacity(self, capacity: int) -> "Target":
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
