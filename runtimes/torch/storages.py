"""The storages that a torch step keeps in memory, taken from a recording or a snapshot."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from memplan.runtimes.torch.allocator_settings import AllocatorSettings

Role = Literal["parameters", "gradients", "optimizer", "inputs", "activations", "temporaries", "outputs", "workspaces"]
Phase = Literal["given", "forward", "backward", "optimizer"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(slots=True)
class Storage:
    """A storage of `size` bytes, alive from event `start` to event `end`, which is None if it is never freed.

    `stream` is the stream that allocated it, `private` the private pool of a CUDA graph, `label` the text that the
    program attached to its allocation, `address` the recorded address, and `block` the bytes of its block, if known.
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
    label: str = ""
    address: int = 0
    block: int = 0
    scratch: int = 0


@dataclass(frozen=True, slots=True)
class Segment:
    """A range of addresses that the allocator got from the driver, used for small or large requests of one stream."""

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

    `events` contains n where tensor n is allocated and ~n where it is freed; tensors that exist from the start have no
    allocation event. A snapshot also provides the segments at its start and end, those requested in between (address
    and size), the events at which free segments were released, and the allocator's settings. `unmeasured` names
    operators that may allocate more bytes than are counted; `notes` are sentences on what a snapshot does not show.
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
    notes: tuple[str, ...] = ()
