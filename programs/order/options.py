"""The options of questions that change the order of operations, and the reader of the graphs of these questions."""

from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from memplan.planner.errors import Option, OptionError, excerpt
from memplan.planner.model.rows import Alignment, Bytes
from memplan.planner.model.sizes import parse_size, rule_error, share_of
from memplan.programs.inputs import read_graph
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.graph_variants import allow_overwriting, count_resident, tensor_named
from memplan.questions.inputs.values import InputValues
from memplan.questions.question import SearchOptions, Seconds
from memplan.questions.reading import Reader
from memplan.questions.reading.adapting import MovesText, SizeTexts, Texts, refuse_spare
from memplan.solvers.portfolio.options import percentage

TIME_LIMIT_S = 60.0
_POINTS, _MOST_POINTS = 16, 1000
_RECOMPUTE, _PLAIN = ("within", "extra_cost", "link", "points"), ("goal", "alignment", "with_certificate", "moves")
Goal = Literal["alive", "placed"]


def _parse_share(value: object) -> object:
    if not isinstance(value, str):
        return value
    percent = percentage(value)
    if percent is None:
        raise rule_error(f"must be a percentage such as 10%, got {excerpt(value)}")
    return percent / 100


Part = Annotated[float, BeforeValidator(_parse_share), Field(ge=0, allow_inf_nan=False)]


def _parse_limit(value: object) -> object:
    """Return the bytes that a text such as 64KiB states; a number, or a share such as 80%, is returned unchanged."""
    if not isinstance(value, str):
        return value
    if not value.endswith("%"):
        try:
            return parse_size(value)
        except ValueError as error:
            raise rule_error(f"{error}, or a share of the given peak such as 80%") from None
    if not (share := share_of(value)) or share < 0:
        raise rule_error(f"must be a share above 0% of the given peak such as 80%, got {excerpt(value)}")
    return value


Limit = Annotated[Bytes | Annotated[str, Field(pattern="%$")], BeforeValidator(_parse_limit)]


class GraphOptions(SearchOptions):
    """The options of questions that change the order of operations."""

    time_limit_s: Seconds = Field(
        TIME_LIMIT_S, description="The time for the whole call, from reading the files to the answer."
    )
    count_resident: bool = Field(
        False, description="Count the weights as well, because they lie in the memory that is planned."
    )
    in_place: bool = Field(False, description="Let element-wise operations write over their inputs.")
    spare: Texts = Field(
        (),
        description="With in_place, keep this tensor as it is to the end, such as an input that is read again, by its"
        " name in the model or its number in the graph. May be repeated.",
    )

    def variant(self, graph: OperationGraph) -> OperationGraph:
        """Return the graph after applying these options: weights may count, and operations may run in place."""
        if self.count_resident and not graph.resident:
            raise OptionError.from_rule("count_resident", "applies only to a graph with weights", way="leave it out")
        counted = count_resident(graph) if self.count_resident else graph
        if self.in_place:
            found = allow_overwriting(counted, {tensor_named(graph, name) for name in self.spare})
            if not any(row.may_overwrite for row in found.ops):
                raise OptionError.from_rule(
                    "in_place",
                    "applies only to a graph in which an operation may overwrite an input",
                    way="leave it out",
                )
            return found
        refuse_spare(self.spare)
        return counted


class OrderOptions(GraphOptions):
    """Options of the question `order`; `within`, `extra_cost`, `link` and `points` require `recompute`."""

    needs = MappingProxyType({"capacity": ("moves",)})

    goal: Goal = Field(
        "alive", description="Minimise the bytes that are alive at once (alive), or the peak of the plan (placed)."
    )
    alignment: Alignment = Field(1, description="Place tensors at multiples of this many bytes.")
    with_certificate: bool = Field(
        False, description="Include the certificate of the bound in the answer, if it can be checked."
    )
    with_plan: bool = Field(
        False, description="Include the plan in the new order and its problem in the answer, or those of each point."
    )
    capacity: SizeTexts = Field((), description="With moves, the sizes and costs of the pools, as `plan` takes them.")
    moves: MovesText | None = Field(
        None,
        description="Find the order whose buffers move between the pools at the least cost; the lower bound is that of"
        " this order.",
    )
    recompute: bool = Field(
        False,
        description="Let operations run again where that lowers the peak. The answer has points of falling peaks "
        "and rising costs.",
    )
    within: Limit | None = Field(
        None,
        description="Come within this peak, a size or a share of the given peak such as 80%, at the least cost of "
        "running operations again.",
    )
    extra_cost: Part | None = Field(
        None,
        description="Let running again cost at most this share of the cost of all operations: 10%, or the number "
        "0.1 in JSON.",
    )
    link: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        0.0,
        description="Let tensors be sent away and fetched again over a link of this many bytes per unit of cost; 0 is "
        "no link.",
    )
    points: Annotated[int, Field(ge=1, le=_MOST_POINTS)] = Field(
        _POINTS,
        description="Look for this many points between the peak without running anything again and the lowest peak.",
    )

    def check(self) -> None:
        """Raise OptionError for options that must not be combined."""
        alone = _PLAIN if self.recompute else _RECOMPUTE
        for name in sorted(self.model_fields_set & {*alone}, key=alone.index):
            if (value := getattr(self, name)) != type(self).model_fields[name].default:
                rule = "must not be given with " if self.recompute else "applies only with "
                way = "leave one of them out" if self.recompute else "give both, or leave it out"
                raise OptionError.from_rule(name, rule, Option("recompute"), f", got {excerpt(value)}", way=way)
        if self.within is not None and self.extra_cost is not None:
            way = "leave one of them out"
            text = f", got {excerpt(self.within)} and {excerpt(self.extra_cost)}"
            raise OptionError.from_rule(
                "within", "must not be given together with ", Option("extra_cost"), text, way=way
            )

    @property
    def limit(self) -> int | None:
        """The limit on the peak in bytes, or None if there is no limit."""
        assert not isinstance(self.within, str), "a share is a number of bytes once the given peak is known"
        return self.within

    def resolve_limit(self, given_peak: int) -> "OrderOptions":
        """Return the options with the limit in bytes; a share is multiplied by the peak of the given order."""
        share = share_of(self.within) if isinstance(self.within, str) else None
        return self if share is None else self.model_copy(update={"within": int(share * given_peak)})


def unaligned_graph(reader: Reader, data: bytes, name: str, _question: InputValues) -> OperationGraph:
    """Return the graph in a file with sizes that are not rounded up, because the search rounds them up itself."""
    reader.options = reader.options.model_copy(update={"alignment": None})
    return read_graph(reader, data, name)
