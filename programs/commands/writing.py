"""The writer of a model with reordered operations, for an order that needs less memory in the model's runtime."""

from typing import NamedTuple

from memplan.planner.errors import OptionError, excerpt
from memplan.planner.foreign import reading as importers
from memplan.planner.foreign.arena import ModelArena, rules_of
from memplan.planner.systems import file_readers
from memplan.programs.models.sequence import write_reordered
from memplan.programs.order.answer import OrderAnswer
from memplan.programs.order.search.regions import permute
from memplan.questions.reading import Reader

RUNTIME = "TFLite Micro"
_AS_GIVEN = "written as given, as nothing is gained"


def refuse_other_format(reader: Reader, target: str) -> None:
    """Raise OptionError if the suffix of an output path belongs to another model format than the input."""
    own = importers.detect(reader.data, reader.name)
    other = next((name for name, each in file_readers().items() if target.lower().endswith(each.suffixes or "\0")), own)
    if own is not None and other != own:
        endings = " or ".join(file_readers()[own].suffixes)
        raise OptionError(
            f"output: must end in {endings}, the suffix of the input's format {own}, got {excerpt(target)}"
        )


class ModelForm(NamedTuple):
    """A rewritten model: its file, messages for the user, and its arena; `data` is None if no file is written."""

    data: bytes | None
    sentences: tuple[str, ...]
    arena: ModelArena | None = None


def write_model(reader: Reader, found: OrderAnswer) -> ModelForm:
    """Return the model with its operations in the answer's order, or without data if that order saves no memory."""
    assert found.ordered is not None, "an answer of this machine's own has its graph"
    rules = rules_of(reader.data)
    if found.moves == 0 or (rules is None and found.saved_bytes <= 0):
        return ModelForm(reader.data, (f"{_AS_GIVEN}: the given order has the least peak, {found.peak:,} bytes",))
    file = write_reordered(reader.data, reader.name, permute(found.ordered, found.order))
    left_out = tuple(f"has not {what}" for what in file.left_out)
    if rules is None:
        return ModelForm(file.data, left_out)
    own_arena = rules.arena_of(reader.data, reader.options)
    arena = rules.arena_of(file.data, rules.form_options(reader.data, file.data, reader.options))
    if not arena.is_smaller(own_arena):
        way_out = "a plan in the file may help, which `memplan convert` writes"
        return ModelForm(
            reader.data, (f"{_AS_GIVEN}: {RUNTIME} takes {own_arena}, and in the new order {arena}; {way_out}",)
        )
    return ModelForm(
        file.data, (*left_out, f"{RUNTIME}'s whole arena takes {arena}, {own_arena.used:,} as given"), arena
    )
