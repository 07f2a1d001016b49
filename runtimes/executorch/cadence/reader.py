"""Reader of a Cadence DSP's memories: the fields of ExecuTorch's MemoryConfig as JSON, with or without buffers.

```
{"memory_sizes": [65536, 4194304], "memory_alignments": [64, 64], "memory_names": ["dram0", "sysram"],
 "base_addrs": [1073741824, 1610612736], "buffers": [{"id": "conv1", "size": 4096, "start": 0, "end": 2}]}
```

The first memory has `mem_id` 1 in ExecuTorch and is preferred to the others. `buffers` are the buffers of a problem; if
they are absent, the problem has only pools. Source: backends/cadence/aot/utils.py.
"""

from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from memplan.planner.errors import FormatError, raise_rules, sentences
from memplan.planner.foreign.imported import ImportedProblem, align_buffers, refuse_dims
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.formats.memplan_json import parse
from memplan.planner.model.buffer_table import BufferTable
from memplan.planner.model.problem import ADDRESS_SPACE, Pool, Problem
from memplan.planner.model.problem_fields import Buffers
from memplan.planner.model.rows import Alignment, Bytes, Name, WireValue, tuple_from_list

Size = Annotated[int, Field(ge=0, lt=ADDRESS_SPACE)]


class MemoryConfig(WireValue):
    """Memories in order of preference; each list that is present has one entry per memory."""

    memory_sizes: Annotated[tuple[Size, ...], Field(min_length=1), BeforeValidator(tuple_from_list)]
    memory_alignments: Annotated[tuple[Alignment, ...], BeforeValidator(tuple_from_list)] | None = None
    memory_names: Annotated[tuple[Name, ...], BeforeValidator(tuple_from_list)] | None = None
    base_addrs: Annotated[tuple[Bytes, ...], BeforeValidator(tuple_from_list)] | None = None
    memory_xml_path: str | None = None
    buffers: Buffers = Field(default_factory=lambda: BufferTable.from_rows(()))

    @model_validator(mode="after")
    def _require_equal_lengths(self) -> "MemoryConfig":
        """Raise a validation error unless each optional list has one entry per memory; return the configuration."""
        count = len(self.memory_sizes)
        for field in ("memory_alignments", "memory_names", "base_addrs"):
            values = getattr(self, field)
            if values is not None and len(values) != count:
                rule = f"must have as many entries as memory_sizes ({count}), got {len(values)}"
                raise_rules(((field,), rule))
        return self

    def pools(self) -> tuple[Pool, ...]:
        """Return the memories as pools; memories without names are called `memory 1`, `memory 2` and so on."""
        count = len(self.memory_sizes)
        names = self.memory_names or tuple(f"memory {k + 1}" for k in range(count))
        alignments = self.memory_alignments or (1,) * count
        rows = zip(names, self.memory_sizes, alignments, strict=True)
        pools = [{"name": name, "size": size, "alignment": alignment} for name, size, alignment in rows]
        addresses: list[dict[str, int]] = [{"base_address": base} for base in self.base_addrs or ()] or [{}] * count
        return tuple(Pool.model_validate(pool | at) for pool, at in zip(pools, addresses, strict=True))


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read a memory configuration as a problem.

    Raises FormatError or ProblemError for wrong configurations, and OptionError if `options` set dimensions.
    """
    refuse_dims(options, "memories")
    try:
        config = MemoryConfig.model_validate(parse(data))
    except ValidationError as error:
        raise FormatError(*sentences(error)) from error
    return ImportedProblem(
        Problem.model_validate({"buffers": align_buffers(config.buffers, options), "pools": config.pools()})
    )
