"""Problems of shared objects: their wire format, and conversions from problems with pools and to plans with pools."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from memplan.planner.errors import Break, ProblemError, excerpt, raise_rules, unique_rule
from memplan.planner.model.columns import repeated_positions
from memplan.planner.model.intervals import Interval, half_open, merge_spans
from memplan.planner.model.moving import refuse_moves
from memplan.planner.model.placement_table import PlacementTable, parse_placements
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pool
from memplan.planner.model.rows import Alignment, Buffer, Bytes, Id, Name, Time, Value, end_rule, tuple_from_list

MOST_SIDE = 2**31 - 1
"""The maximum width or height of a texture, so that areas stay below 2^62."""
Side = Annotated[int, Field(ge=1, le=MOST_SIDE)]


class ObjectBuffer(Value):
    """A buffer that needs a whole object while alive: a texture never shares one with a buffer of bytes."""

    id: Id
    """The unique name, a non-empty text or an integer."""
    size: Bytes | None = None
    """The size in bytes; null for a texture."""
    width: Side | None = None
    """The width of a texture, in texels; null for a buffer of bytes."""
    height: Side | None = None
    """The height of a texture, in texels; null for a buffer of bytes."""
    kind: Name | None = None
    """The kind of object that it needs, such as a format of texels; buffers of different kinds never share an
    object."""
    start: Time
    """The first time step at which the buffer is alive."""
    end: Time
    """The first time step after its lifetime; with `interval` `closed`, the last time step of its lifetime."""

    @model_validator(mode="after")
    def _check_size_or_sides(self) -> "ObjectBuffer":
        """Raise ValidationError unless the buffer has a size or both sides, and a lifetime; return the buffer."""
        breaks: list[Break] = []
        if (self.size is None) == (self.width is None) or (self.width is None) != (self.height is None):
            breaks.append((("size",), f"must be given unless width and height are given, got size {self.size}"))
        if self.end <= self.start:
            breaks.append((("end",), end_rule(self.start, self.end)))
        if breaks:
            raise_rules(*breaks)
        return self

    @property
    def sides(self) -> tuple[int, int]:
        """The width and height of a texture; for a buffer of bytes, the size in bytes and 1."""
        return (self.size or 0, 1) if self.width is None or self.height is None else (self.width, self.height)


def _require_kind(schema: dict[str, Any]) -> None:
    schema["required"] = ["kind", *schema.get("required", ())]
    schema["properties"]["kind"].pop("default", None)


class ObjectsProblem(Value):
    """Buffers that share whole objects, each as large as its largest buffer; the objects' sum is minimised."""

    model_config = ConfigDict(json_schema_extra=_require_kind)

    kind: Literal["objects"] = "objects"
    """Always `objects`; a problem without this field has pools."""
    name: str | None = None
    """A free text, which lists of jobs show."""
    interval: Interval = "half-open"
    """With `closed`, the end of a lifetime still belongs to it."""
    alignment: Alignment = 1
    """Sizes in bytes are rounded up to a multiple of this number; textures are not."""
    ratio: Annotated[int, Field(ge=1, le=MOST_SIDE)] | None = None
    """No side of an object is more than this many times that of a buffer in it; by default, there is no limit."""
    buffers: Annotated[tuple[ObjectBuffer, ...], BeforeValidator(tuple_from_list)]
    """The buffers that share objects."""

    @model_validator(mode="before")
    @classmethod
    def _convert_to_half_open(cls, data: Any) -> Any:
        return half_open(data) if isinstance(data, dict) and data.get("interval") == "closed" else data

    @model_validator(mode="after")
    def _check_unique_ids(self) -> "ObjectsProblem":
        """Raise ValidationError if two buffers have the same id; return the problem."""
        breaks: list[Break] = []
        for first, i in repeated_positions([buffer.id for buffer in self.buffers]):
            rule = unique_rule(excerpt(self.buffers[i].id), f"at buffers[{first}]")
            breaks.append((("buffers", i, "id"), rule))
        if breaks:
            raise_rules(*breaks)
        return self

    def sides(self, i: int) -> tuple[int, int]:
        """Return the width and height of buffer `i`; for a buffer of bytes, the aligned size and 1."""
        width, height = self.buffers[i].sides
        return (-(-width // self.alignment) * self.alignment, 1) if self.buffers[i].width is None else (width, height)

    def group(self, i: int) -> tuple[bool, str | None]:
        """Return the sharing key (texture or not, kind) of buffer `i`; buffers share objects only if keys are equal."""
        return self.buffers[i].width is not None, self.buffers[i].kind


def objects_from_problem(problem: Problem) -> ObjectsProblem:
    """Convert a problem with pools to a problem of shared objects; raises ProblemError if that is impossible.

    An alias shares the object of its root buffer, so their lifetimes together must be without a hole.
    """
    refuse_moves(problem, "for shared objects")
    table, spans = problem.buffers, dict[int, list[tuple[int, int]]]()
    for i in range(len(table)):
        root, distance = problem.roots.get(i, (i, 0))
        spans.setdefault(root, []).extend(table.intervals(i))
        if i in table.rules["relative"] or distance + int(table.size[i]) > int(table.size[root]):
            raise ProblemError(
                f"buffers[{i}]: must not have a fixed distance to another buffer, because objects have no offsets"
            )
    if problem.conflicts or problem.may_share or problem.bank or problem.reuse:
        raise ProblemError(
            "conflicts, may_share, bank, reuse: must be empty, because only lifetimes limit the sharing of objects"
        )
    step = max((pool.alignment for pool in problem.pools), default=1)
    rows = []
    for i, pairs in spans.items():
        if len(merge_spans(pairs)) != 1:
            raise ProblemError(f"buffers[{i}]: must have one lifetime without a hole, got {excerpt(sorted(pairs))}")
        unit = max(step, int(table.alignment[i]))
        size = -(-int(table.size[i]) // unit) * unit
        start, end = min(pairs)[0], max(end for _, end in pairs)
        rows.append(ObjectBuffer(id=table.ids[i], size=size, start=start, end=end))
    return ObjectsProblem(name=problem.name, buffers=tuple(rows))


class SharedObject(Value):
    """An object: its bytes or sides, and its buffers."""

    size: int | None = None
    """The size in bytes; null for a texture."""
    width: int | None = None
    """The width of a texture, in texels; null for an object of bytes."""
    height: int | None = None
    """The height of a texture, in texels; null for an object of bytes."""
    kind: Name | None = None
    """The kind of its buffers; null if they have none."""
    buffers: Annotated[tuple[Id, ...], BeforeValidator(tuple_from_list)]
    """The names of the buffers that use the object one after another, in order of time."""

    @property
    def amount(self) -> int:
        """The size of an object: its bytes or, for a texture, its number of texels."""
        return self.size if self.size is not None else (self.width or 0) * (self.height or 0)


def pools_plan(problem: ObjectsProblem, objects: tuple[SharedObject, ...]) -> tuple[Problem, Plan]:
    """Return a problem with one pool per object, and the plan with each buffer at the start of its object's pool.

    For textures, texels count as bytes.
    """
    rows = [
        Buffer(id=one.id, size=one.width * one.height if one.width and one.height else one.size or 0)
        .model_copy(update={"start": one.start, "end": one.end})
        .model_dump(exclude_none=True)
        for one in problem.buffers
    ]
    pools = [Pool(name=f"object {k}", size=each.amount) for k, each in enumerate(objects)] or [Pool()]
    placements: PlacementTable = parse_placements(
        [{"id": i, "pool": pools[k].name, "offset": 0} for k, each in enumerate(objects) for i in each.buffers]
    )
    return Problem(buffers=rows, pools=pools), Plan(placements=placements)
