"""The options of `convert`, and its targets: the formats that it can write."""

from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from memplan.planner import formats
from memplan.planner.errors import Option, OptionError, excerpt
from memplan.planner.errors.did_you_mean import closest_word
from memplan.planner.foreign.writing import EXPORTERS
from memplan.planner.model.rows import Bytes
from memplan.planner.model.sizes import MacsRatio
from memplan.planner.systems import systems
from memplan.questions.question import ForeignOptions, Seconds
from memplan.questions.reading import ReadOptions
from memplan.questions.reading.adapting import ProblemOptions

PROGRAMS = ("graph", "operations")
"""The targets that are written from the operations in a file, not from a problem."""
TFLITE = "tflite"
MODELS = ("lp", "mps")
"""The targets that express a problem as an integer program for other solvers."""
OBJECTS = "objects"
"""The target that writes a problem as a problem of shared objects (memory without offsets)."""
TARGETS = (*formats.FORMATS, *PROGRAMS, OBJECTS, *MODELS, *EXPORTERS)

if TYPE_CHECKING:
    Target = str
else:
    Target = Literal[TARGETS]
Section = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.$]{1,100}$")]


class ConvertOptions(ReadOptions, ForeignOptions):
    """Options of a conversion: how the file is read, and the target."""

    time_limit_s: Seconds = Field(60.0, description="The answer comes within this time, which all searches share.")
    to: "Target | None" = Field(
        None,
        description="The form that is written. The default is the problem as JSON, or a plan as C; the command "
        "takes it from the suffix of -o.",
    )
    prefix: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        None, description="The prefix of all names in the files. The default is the name of the file."
    )
    section: Section | None = Field(
        None,
        description="The section for the arrays in C, such as .dtcm. By default each array has a section of its own.",
    )
    fit: Bytes | None = Field(
        None,
        description="The largest permitted size of the model's whole arena. By default, the arena becomes as small as "
        "possible.",
    )
    macs: MacsRatio | None = Field(
        None, description="Allow at most this many multiplications, compared with the model as it is: +10% or 1.1."
    )
    c_array: bool = Field(False, description="Also write the model and its arena as C: a source and a header.")
    program: bool = Field(
        False,
        description="Include in the answer what the file says beside the problem: the names of its tensors and "
        "its graph of operations.",
    )

    def refuse_for_programs(self, target: str) -> None:
        """Raise OptionError for a given option that only a problem can use, because the target has operations."""
        said = self.model_dump(mode="json", exclude_defaults=True) if self.model_fields_set else {}
        if wrong := [name for name in (*ProblemOptions.model_fields, "program") if name in said]:
            rule = f"must be left out for {target}, which states operations but no offsets of buffers"
            raise OptionError(*((Option(name), f": {rule}") for name in wrong))


def target_of_name(path: str) -> str:
    """Return the target that belongs to the suffix of a file name. Raises OptionError for an unknown suffix."""
    ending = PurePath(path).suffix.lower().removeprefix(".")
    others = {target: words for each in systems() for target, words in each.other_targets.items()}
    ending_target = ending if ending in TARGETS else closest_word(ending, (), others)
    if ending_target is None:
        names = ", ".join(f".{target}" for target in ("json", "csv", "c", "ld", "tflite", "pte"))
        raise OptionError(f"to: must be given if the output's name does not end in {names}, got {excerpt(path)}")
    return ending_target
