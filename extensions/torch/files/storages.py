"""The storages that a step of torch keeps in memory, read from a recording or from a snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from memplan.extensions.torch.files.allocator_settings import AllocatorSettings

Role = Literal["parameters", "gradients", "optimizer", "inputs", "activations", "temporaries", "outputs"]
Phase = Literal["given", "forward", "backward", "optimizer"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(slots=True)
class Storage:
    """A storage: its bytes, its origin, and its events: it is alive from `start` to `end`, None if never freed.

    `stream` is the stream that allocated it, `private` the pool of a CUDA graph, `address` the recorded address.
    """

    size: int
    start: int
    phase: Phase
    operation: str = ""
    module: str = ""
    line: str = ""
    role: Role = "temporaries"
    end: int | None = None
    is_on_host: bool = False
    stream: int = 0
    private: tuple[int, ...] | None = None
    address: int = 0


@dataclass(frozen=True, slots=True)
class Segment:
    """A range of addresses that the allocator got from the driver, for the small or large requests of one stream."""

    address: int
    size: int
    stream: int
    is_small: bool
    private: tuple[int, ...] | None

    def __contains__(self, address: int) -> bool:
        return self.address <= address < self.address + self.size


@dataclass(eq=False)
class StepMemory:
    """The storages of a step, in the order in which they are allocated and freed.

    `events` are positions of tensors: n where tensor n is allocated, ~n where it is freed; tensors that exist from the
    start have no allocation event. A snapshot also gives the segments at its start and at its end, the segments
    requested between (address and size), the events at which free segments were released, and the allocator's settings.
    `unmeasured` are operators that may allocate more bytes than are counted.
    """

    tensors: list[Storage] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    segments: tuple[Segment, ...] = ()
    last_segments: tuple[Segment, ...] = ()
    requested: list[tuple[int, int]] = field(default_factory=list)
    released: set[int] = field(default_factory=set)
    most_reserved: int | None = None
    settings: AllocatorSettings | None = None
    unmeasured: tuple[str, ...] = ()
