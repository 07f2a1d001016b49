"""The options for reading models of other systems, and the options' syntax as text."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field, PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from memplan.planner.errors import Option, OptionError, Sentence, excerpt
from memplan.planner.errors.did_you_mean import byte_count_hint
from memplan.planner.model.rows import MAX_BYTES, Alignment, Bytes, Name, WireValue
from memplan.planner.model.sizes import parse_size
from memplan.planner.systems import file_readers

_DIGITS = 18
_SEVERAL = 2
Views = Literal["alias", "separate"]
Size = int | tuple[int, ...]
"""The size of one dimension, or the sizes of all dimensions of an input."""


def size_text(size: Size) -> str:
    """Return a size or shape in the syntax of the flag `--dim`; a shape with one dimension ends with a comma."""
    if isinstance(size, int):
        return str(size)
    return ",".join(str(abs(each)) for each in size) + "," * (len(size) < _SEVERAL)


def _sizes_by_name(value: object, info: ValidationInfo) -> object:
    """Parse texts such as `batch=1,seq=128` into sizes by name; values of other types are returned unchanged."""
    is_dim = info.field_name == "dims"
    if isinstance(value, str):
        value = re.split(",(?=[^,]*=)" if is_dim else ",", value) if value else []
    if not isinstance(value, (list, tuple)):
        return value
    named_sizes: dict[str, Size] = {}
    for entry in value:
        name, _, text = str(entry).rpartition("=")
        is_shape = is_dim and "," in text
        if name and not is_dim:
            with suppress(ValueError):  # The check below reports a wrong size, so keep its text unchanged.
                text = str(parse_size(text))
        sizes = text.removesuffix(",").split(",") if is_shape and text != "," else [text] * (text != ",")
        if not name or not all(one.isascii() and one.isdecimal() and len(one) <= _DIGITS for one in sizes):
            meant = byte_count_hint(text).replace("mean ", f"mean {name}=").replace(", in bytes", "") if name else ""
            rule = f"must be {FORM_OF[info.field_name or '']}, got {excerpt(entry)}{meant}"
            raise PydanticCustomError("rule", "{rule}", {"rule": rule})
        if name in named_sizes:
            rule = f"must be given once for each name, got {excerpt(name)} again: keep one, such as {entry}"
            raise PydanticCustomError("rule", "{rule}", {"rule": rule})
        named_sizes[name] = tuple(map(int, sizes)) if is_shape else int(text)
    return named_sizes


def _validated_size(value: object) -> object:
    """Return a valid size, or a whole shape as a tuple; raises PydanticCustomError for any other value."""
    sizes = value if isinstance(value, (list, tuple)) else (value,)
    if not all(type(one) is int and 0 <= one <= MAX_BYTES for one in sizes):
        rule = "must be a size of at least 0, or a list of the sizes of a shape, got {shown}"
        raise PydanticCustomError("rule", rule, {"shown": excerpt(value)})
    return tuple(value) if isinstance(value, (list, tuple)) else value


FORM_OF = {
    "dims": "NAME=SIZE, as in batch=1, or of an input NAME=SIZE,SIZE,..., as in image=1,3,224,224",
    "scratch": "OPERATOR=SIZE, or of one operator's output OUTPUT=SIZE, as in my_op=1024 or my_op=4KiB",
}
"""The syntax of each option that has numbers by name."""
_NUMBER: dict[str, Any] = {"type": "integer", "minimum": 0}
_Sizes = Annotated[
    int | tuple[int, ...],
    PlainValidator(_validated_size),
    PlainSerializer(lambda size: size),  # Pydantic's default serializer warns about lists, so return sizes as they are.
    WithJsonSchema({"anyOf": [_NUMBER, {"type": "array", "items": _NUMBER}]}),
]
SizesByName = Annotated[Mapping[Name, _Sizes], BeforeValidator(_sizes_by_name)]
ByName = Annotated[dict[Name, Bytes], BeforeValidator(_sizes_by_name)]


class ModelOptions(WireValue):
    """The options for reading a model, on every entrance; all but the alignment may be given only for models.

    Every buffer is aligned to `alignment` bytes and its size rounded up to a multiple; by default, to the alignment of
    the model's runtime. A view is an alias of its source if that is proved safe. Otherwise, or if `views` is
    `separate`, it is a separate buffer. `dims` has the sizes of dimensions that the model only names, or whole shapes
    of inputs, by name. `scratch` has the bytes that kernels need while they run, by operator or by an operator's
    output. `target` is the processor for which the runtime is built, and `kernels` names the kernels with which it is
    linked.
    """

    dims: SizesByName = Field(
        default_factory=dict,
        description="Set the size of a dimension that a model only names, such as batch=1, or the whole shape of "
        "an input of an ONNX model.",
    )
    views: Views = Field(
        "alias",
        description="Let views share the bytes of their tensor where that is safe (alias), or never (separate).",
    )
    alignment: Alignment | None = Field(
        None,
        description="Align all buffers to this many bytes. The default is 16 for TFLite, 64 for ONNX, and what "
        "the file says for all others.",
    )
    scratch: ByName = Field(
        default_factory=dict,
        description="Set the bytes that the kernel of this operator needs while it runs, for models of TFLite, ONNX, "
        "ExecuTorch and StableHLO: of all operators of that name, or of the one with that output; for TFLite, also of "
        "the one with that number.",
    )
    target: Name | None = Field(
        None,
        description="Count the arena of TFLite Micro on this processor or board, such as cortex-m4, esp32s3 or "
        "riscv32. The default is host: the runtime in Python, with pointers of 8 bytes. The command check takes "
        "several, separated by commas, each alone or with its kernels, such as cortex-m4/cmsis-nn.",
    )
    kernels: Name | None = Field(
        None,
        description="Count the arena with these kernels of TFLite Micro: reference, cmsis-nn, esp-nn, ethos-u or "
        "xtensa. The default is reference.",
    )

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of dimensions by name; raises OptionError for a whole shape, which only ONNX models accept."""
        for name, size in self.dims.items():
            if isinstance(size, tuple):
                text = f"{name}={size_text(size)}"
                raise OptionError.from_rule(
                    "dims", f"must be one size, such as {name}=8 (only ONNX models accept whole shapes), got {text}"
                )
        return cast("dict[str, int]", self.dims)

    def is_set(self, name: str) -> bool:
        """Return True if the option `name` differs from its default; clients may send defaults, so compare values."""
        default = ModelOptions.model_fields[name].get_default(call_default_factory=True)
        return bool(getattr(self, name) != default)

    def refuse_for_models(self) -> None:
        """Raise OptionError if an option is set that applies only to models; called if the file is not a model."""
        if wrong := {name: getattr(self, name) for name in _FOR_MODELS if self.is_set(name)}:
            # file_readers() imports the modules of all systems, which is slow, so call it only for the error.
            readers, said = file_readers(), list[Sentence]()
            for name, value in wrong.items():
                models = [each for each, row in readers.items() if name in row.options] or readers
                rule = f": applies only to models ({', '.join(models)}), got {excerpt(value)}: leave it out"
                said.append((Option(name), rule))
            raise OptionError(*said)


_FOR_MODELS = [name for name in ModelOptions.model_fields if name != "alignment"]
