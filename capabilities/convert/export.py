"""The capability `export`: a plan as C, a linker or another runtime takes it."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from memplan.capabilities.capability import Answer, Capability, CapabilityOptions, Control
from memplan.capabilities.inputs import EXAMPLE, EXAMPLE_PLAN, MODEL, PLAN, PROBLEM
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.systems import writing as exporters
from memplan.systems.imported import ByName
from memplan.systems.layout import lay_out
from memplan.systems.tflite.tflm_tail import MicroArena, arena_of
from memplan.systems.writing import EXPORTERS

if TYPE_CHECKING:
    Target = str
else:
    Target = Literal[tuple(EXPORTERS)]


Section = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.$]{1,100}$")]


class ExportOptions(CapabilityOptions):
    """Options of an export."""

    to: Target = Field("c", description="What to write.")
    name: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        "memplan", description="The name that begins those in the files; the command takes it from that of FILE."
    )
    section: Section | None = Field(
        None, description="The section in which arrays of C lie, such as .dtcm; by default each in one of its own."
    )
    scratch: ByName = Field(
        default_factory=dict,
        description="The bytes that the kernel of an operator needs while it runs, for TFLite models.",
    )


class ExportedFile(Answer):
    """A file: how its name ends ("": it is the only one), and what is in it, as base64 where that is no text."""

    suffix: str
    text: str | None = Field(None, exclude_if=lambda found: found is None)
    base64: str | None = Field(None, exclude_if=lambda found: found is None)

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return (self.text or "").encode() if self.base64 is None else b64decode(self.base64)


class RuntimeArena(Answer):
    """The bytes of a runtime's whole arena: head (tensors, scratch), tail (what stays), and the least to start.

    `unknown` are operators whose kernels are not known here, and may need more.
    """

    head: int
    tail: int
    used: int
    least: int
    unknown: tuple[str, ...] = Field((), exclude_if=lambda found: not found)

    @property
    def text(self) -> str:
        """The arena for people."""
        return str(MicroArena(self.head, self.tail, self.least, self.unknown))


class Exported(Answer):
    """The files that a plan became; of TFLite Micro, its whole arena with the plan, and for the model as given."""

    files: tuple[ExportedFile, ...]
    arena: RuntimeArena | None = Field(None, exclude_if=lambda found: found is None)
    given: RuntimeArena | None = Field(None, exclude_if=lambda found: found is None)


def export(
    problem: Problem,
    plan: Plan,
    model: bytes | None = None,
    options: ExportOptions = ExportOptions(),
    control: Control = Control(),
) -> Exported:
    """Write a plan for C, a linker, or another runtime, after it is verified.

    Where a plan is written into a model, that is the one that the problem was read from.
    """
    layout = replace(lay_out(problem, plan, model, options.scratch), section=options.section)
    files = exporters.export(options.to, layout, options.name)
    arenas = {} if options.to != "tflm" or model is None else {"arena": files[""], "given": model}
    return Exported(
        files=tuple(_file(suffix, data) for suffix, data in files.items()),
        **{name: RuntimeArena.of(arena_of(data, options.scratch)) for name, data in arenas.items()},
    )


def _file(suffix: str, data: bytes) -> ExportedFile:
    try:
        return ExportedFile(suffix=suffix, text=data.decode())
    except UnicodeDecodeError:
        return ExportedFile(suffix=suffix, base64=b64encode(data).decode())


def lines(found: Exported) -> Iterator[str]:
    """Yield the lines of the files that are text, and the size of others."""
    for file in found.files:
        if len(found.files) > 1:
            yield f"{file.suffix}:"
        yield from [f"{len(file.data):,} bytes"] if file.text is None else file.text.splitlines()


CAPABILITY = Capability(
    export,
    inputs=(PROBLEM, PLAN, MODEL),
    lines=lines,
    example={"problem": EXAMPLE, "plan": EXAMPLE_PLAN, "options": {"to": "c"}},
)
