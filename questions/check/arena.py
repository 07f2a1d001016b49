"""Comparison of a runtime's arena (its total memory for a model) with the budget of its pool."""

from contextlib import suppress
from typing import Any

from pydantic import Field, ValidationError

from memplan.planner.errors import FormatError, InputError, excerpt, prefix_sentence, sentences
from memplan.planner.foreign.arena import ModelArena, rules_of, scratch_flags
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.model.finding import Finding
from memplan.questions.check.pools import Failure
from memplan.questions.inputs.values import Input, InputValues
from memplan.questions.question import Answer
from memplan.questions.reading import Reader

_TFLM = "TFLite Micro"
_ALIGNMENT = 16
"""The alignment of the memories of a program of ExecuTorch."""


class RuntimeArena(Answer):
    """A runtime's whole arena: its memory for a model, in bytes."""

    runtime: str = Field(_TFLM, exclude_if=lambda name: name == _TFLM)
    """The runtime; left out for TFLite Micro."""
    head: int
    """The bytes of tensors and of scratch memory; for ExecuTorch, of the planned memory."""
    tail: int
    """The bytes of persistent data; for ExecuTorch, what the runtime keeps for the method on a named processor, or else
    the memory of a delegate."""
    used: int
    """The bytes in use once the model has started: `head` and `tail`."""
    least: int
    """The size of the smallest arena with which the model starts; it may exceed `used`."""
    unknown: tuple[str, ...] = Field((), exclude_if=lambda names: not names)
    """The operators whose kernels memplan does not know, and which may need more bytes."""
    temporary: int = Field(0, exclude_if=lambda size: not size)
    """For TFLite Micro, the most bytes that use the head before tensors do; for ExecuTorch, the most that
    kernels and delegates need for a short time."""
    target: str = Field("", exclude_if=lambda text: not text)
    """The processor with the kernels for which the numbers hold; left out for the host."""
    said: tuple[str, ...] = Field((), exclude_if=lambda names: not names)
    """The operators whose scratch sizes the user stated, so that the totals are minima."""
    flash: int = Field(0, exclude_if=lambda size: not size)
    """The size of the model itself, in bytes."""
    scratch: int = Field(0, exclude_if=lambda size: not size)
    """The most bytes of the head that one kernel uses as scratch."""

    @property
    def text(self) -> str:
        """The arena as a phrase, with its sizes in bytes and the operators with unknown memory."""
        is_host = self.runtime == _TFLM and not self.target
        sizes = self.head, self.tail, self.least, self.unknown, self.temporary, self.target
        return str(ModelArena(*sizes, self.said, is_host=is_host))


def failure_of_kernels(arena: RuntimeArena) -> list[Failure]:
    """Return a list with one failure if a model uses several pools and some kernels' memory is unknown; else []."""
    message = f"no single pool holds the arena of {arena.runtime}; {_unknown_sentence(arena)}"
    return [Failure(rule="unknown-arena", pool=None, message=message)] if arena.unknown else []


def _unknown_sentence(arena: RuntimeArena) -> str:
    way = scratch_flags(arena.unknown, "SIZE")
    what = f"the memory of the kernels of {', '.join(arena.unknown)} is unknown"
    if " refuses" in what:
        return f"{what}: convert the model without these, or, for kernels of your own, state it with {way}"
    return f"{what}: state it with {way}" if way else what


_FAST, _SLOW = "sram", "psram"
"""The names of the two memories that advice proposes."""


def failure_of_arena(arena: RuntimeArena, pool: str, budget: int) -> list[Failure]:
    """Return a failure if the arena exceeds its pool's budget, or may exceed it because of unknown kernels."""
    if arena.least <= budget and not arena.unknown:
        return []
    if arena.least <= budget:
        said = f"{arena.runtime}'s arena takes at least {arena.least:,} bytes of {budget:,}; {_unknown_sentence(arena)}"
        return [Failure(rule="unknown-arena", pool=pool, message=f"pool {excerpt(pool)}: {said}")]
    over = f"{arena.least - budget:,} above its budget of {budget:,}"
    message = f"pool {excerpt(pool)}: {arena.runtime}'s arena for this file is {arena.text}, {over}"
    way = (
        f"; `memplan convert --fit {budget} --output NEW.tflite` looks for a form that fits, and"
        f" `memplan plan --pool {_FAST}={budget} --pool {_SLOW}=unlimited --output plan.json` uses two memories"
        if arena.flash and arena.runtime == _TFLM
        else ""
    )
    return [Failure(rule="over-budget", pool=pool, message=f"{message}{way}")]


def _read_arena(value: Any) -> RuntimeArena:
    """Return the runtime arena that a JSON value describes; raises FormatError."""
    try:
        return RuntimeArena.model_validate(value)
    except ValidationError as error:
        raise FormatError(*(prefix_sentence("arena.", sentence) for sentence in sentences(error))) from error


def _arena_of_program(program: ImportedProblem, head: int, flash: int) -> RuntimeArena:
    """Return the memory of an ExecuTorch program on a processor: head, tail and temporary bytes, each aligned."""
    parts = (head, program.kept, program.beside)
    return RuntimeArena(
        runtime="ExecuTorch",
        head=head,
        tail=program.kept,
        used=head + program.kept,
        least=sum(-(-size // _ALIGNMENT) * _ALIGNMENT for size in parts),
        unknown=program.unknown,
        temporary=program.beside,
        target=program.target,
        flash=flash,
    )


def _arena_of_file(reader: Reader, values: InputValues) -> RuntimeArena | None:
    """Return the arena of a model file; None if a plan is given or memplan does not know the runtime's arena."""
    imported = reader.imported
    if imported is None or "plan" in values:
        if imported is not None and reader.options.target is not None and "target" not in reader.recorded:
            what = "target: changes the runtime's arena, but a budget of a given plan is for its buffers alone"
            reader.warnings.append(Finding("no-effect", f"{what}: leave out --plan to check the arena"))
        return None
    if imported.kept and imported.own_peak is not None:
        return _arena_of_program(imported, imported.own_peak, len(reader.data))
    if imported.beside and imported.own_peak is not None:
        head, tail = imported.own_peak, imported.beside
        return RuntimeArena(runtime="ExecuTorch", head=head, tail=tail, used=head + tail, least=head + tail)
    if (rules := rules_of(reader.data)) is None:
        return None
    if reader.options.dims:
        what = "TFLite Micro's arena is unknown, because --dim does not change the sizes in the file"
        reader.warnings.append(Finding("unknown-arena", f"{what}; export the model with these sizes"))
        return None
    with suppress(InputError):
        return RuntimeArena.from_fields(rules.arena_of(reader.data, reader.options))
    return None


ARENA = Input(
    "arena",
    RuntimeArena,
    _read_arena,
    lambda arena: arena.model_dump(mode="json"),
    "The whole arena of the runtime, which a budget of the only pool is for, too.",
    absent=_arena_of_file,
    required=False,
)
