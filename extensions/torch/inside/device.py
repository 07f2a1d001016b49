"""The device on which a step runs: its capacity, its allocator, and memory occupied outside the allocator."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from memplan.planner.errors import OptionError
from memplan.planner.model.application import Names
from memplan.planner.model.rows import tuple_from_list
from memplan.planner.model.sizes import Size
from memplan.questions.question import QuestionOptions
from memplan.runtimes.torch.allocator_settings import ROUNDING, AllocatorSettings, settings_of
from memplan.runtimes.torch.storages import StepMemory, Storage

CUBLAS = (2 * 4096 + 8 * 16) << 10
"""The bytes of cuBLAS's workspace, allocated with the first matrix product; 32 MiB for compute capability 9."""
APART = {
    "kernel_workspace": "workspaces of convolutions, attention and recurrent layers",
    "context": "the context of the device, with its kernels",
    "nccl": "buffers of NCCL",
}
"""Maps each option for memory that no trace shows, and whose bytes the option states, to a description of it."""
_CPU_ALIGNMENT = 64


def _validated_allocator(text: str) -> str:
    """Return an allocator's name or settings unchanged; raises OptionError for unknown settings."""
    if text not in ("cuda", "plan", "cpu"):
        settings_of(text)
    return text


Groups = Annotated[tuple[Names, ...], BeforeValidator(tuple_from_list)]
Allocator = Annotated[str, AfterValidator(_validated_allocator)]
ALLOCATOR = (
    "cuda, plan (one arena by memplan), cpu, or settings as in PYTORCH_CUDA_ALLOC_CONF: expandable_segments:True."
)


class FitsOptions(QuestionOptions):
    """The options of `fits`; sizes are bytes, or texts such as 24GiB."""

    needs = MappingProxyType({"suggest": ("capacity",)})

    capacity: Size | None = Field(None, description="The device's memory.")
    allocator: Allocator = Field("cuda", description=ALLOCATOR)
    suggest: bool = Field(False, description="Say what would make the step fit, each tried.")
    advise: bool = Field(False, description="Say what the allocator would reserve with other settings, and in a plan.")
    together: Groups = Field((), description="Groups of CUDA graphs that may run at once.")
    computed: bool = Field(False, description="Run the step on real values.")
    compiled: bool = Field(False, description="Run forward and backward as AOT autograd parts them.")
    cublas_workspace: Size = Field(CUBLAS, description="The workspace of cuBLAS.")
    kernel_workspace: Size | None = Field(None, description="Workspaces of convolutions, attention, recurrent layers.")
    context: Size | None = Field(None, description="The context of the device, with its kernels.")
    nccl: Size | None = Field(None, description="Buffers of NCCL.")
    time_limit_s: float = Field(5.0, gt=0, le=3600, description="Seconds for the plan; for the ways out as many twice.")
    sizes: Mapping[str, Any] | None = Field(None, description="Sizes that may change, as in `ways.Sizes`.")

    def refuse_workspace(self, where: str) -> None:
        """Raise OptionError if the size of cuBLAS's workspace is set; the text `where` says where it has no effect."""
        if self._is_changed("cublas_workspace"):
            raise OptionError.from_rule("cublas_workspace", f"must be left out {where}")

    @property
    def usable_bytes(self) -> int | None:
        """The bytes of the capacity that are available for tensors; None if no capacity is given."""
        if self.capacity is None:
            return None
        return max(0, self.capacity - sum(getattr(self, name) or 0 for name in APART))

    @property
    def alignment(self) -> int:
        """The multiple in bytes to which sizes of storages are rounded up."""
        return _CPU_ALIGNMENT if self.allocator == "cpu" else ROUNDING

    @property
    def is_simulated(self) -> bool:
        """True if the allocator is torch's caching allocator, whose behaviour is simulated."""
        return self.allocator not in ("plan", "cpu")

    def settings(self, step: StepMemory) -> AllocatorSettings:
        """Return the settings that `allocator` states; `cuda` means those of the snapshot, or else torch's defaults."""
        return (step.settings or AllocatorSettings()) if self.allocator == "cuda" else settings_of(self.allocator)

    def is_counted(self, storage: Storage) -> bool:
        """Return True if a storage occupies the device's memory; the step counters of optimizers are on the host."""
        return storage.size > 0 and not (storage.is_on_host and self.is_simulated)
