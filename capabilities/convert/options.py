"""The options of `convert`, and what may come out."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from memplan.capabilities.capability import ForeignOptions, Seconds
from memplan.capabilities.reading import ReadOptions
from memplan.capabilities.sizes import MacsRatio
from memplan.planner import formats
from memplan.planner.errors import OptionError, shown
from memplan.planner.errors.did_you_mean import meant
from memplan.planner.model.rows import Bytes
from memplan.planner.systems import systems
from memplan.systems.writing import EXPORTERS

PROGRAMS = ("graph", "operations")
"""What is written of the operations in a file."""
TFLITE = "tflite"
MODELS = ("lp", "mps")
"""The integer program of a problem, to be read, or solved elsewhere."""
OBJECTS = "objects"
"""A problem of shared objects, which `plan` answers with objects."""
TARGETS = (*formats.FORMATS, *PROGRAMS, OBJECTS, *MODELS, *EXPORTERS)

if TYPE_CHECKING:
    Target = str
else:
    Target = Literal[TARGETS]
Section = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.$]{1,100}$")]


class ConvertOptions(ReadOptions, ForeignOptions):
    """Options of a conversion: how the file is read, and what comes out."""

    time_limit_s: Seconds = Field(60.0, description="Seconds until the answer, which all searches share.")
    to: Target | None = Field(
        None,
        description="What comes out: by default the problem, or a plan as C; the command reads it off the name of -o.",
    )
    prefix: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        None, description="The name that begins those in the files; by default that of the file."
    )
    section: Section | None = Field(
        None, description="The section in which arrays of C lie, such as .dtcm; by default each in one of its own."
    )
    fit: Bytes | None = Field(
        None, description="The bytes that a model's whole arena may have; by default the least that is found."
    )
    macs: MacsRatio | None = Field(None, description="The most multiplications, of those as given: +10% or 1.1.")
    c_array: bool = Field(False, description="Write a model and its arena as C, too: a source and a header.")
    program: bool = Field(
        False, description="With the problem, answer with what a program says: its names and its graph of operations."
    )


def target_of_name(path: str) -> str:
    """Return what a file is to have by how its name ends; raises OptionError."""
    ending = PurePath(path).suffix.lower().removeprefix(".")
    others = {target: words for each in systems() for target, words in each.other_targets.items()}
    ending_target = ending if ending in TARGETS else meant(ending, (), others)
    if ending_target is None:
        names = ", ".join(f".{target}" for target in ("json", "csv", "c", "ld", "tflite", "pte"))
        raise OptionError(f"to: must be given where the name does not end in {names}, got {shown(path)}")
    return ending_target
