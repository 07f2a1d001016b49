"""Applications: several models that share pools. Models may run concurrently, and buffers may outlive their model.

An application becomes one joint problem, in which each model has a separate range of time. A buffer held for another
model is also alive in that model's range, and in the ranges of all models that may run in between. Buffers of models
that may run concurrently conflict explicitly.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from memplan.planner.errors import ONE_OF_THEM, Break, Location, ProblemError, add_way, excerpt, raise_rules
from memplan.planner.model.columns import repeated_positions
from memplan.planner.model.intervals import handovers_of, merge_spans
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Objective, Pool
from memplan.planner.model.rows import Name, Value, tuple_from_list

MOST_PAIRS = 1_000_000
"""The maximum number of buffer pairs in concurrent models, because each pair becomes an explicit conflict."""
MOST_MODELS = 256
Names = Annotated[tuple[Name, ...], BeforeValidator(tuple_from_list)]


class Held(Value):
    """A buffer that outlives its model, such as `asr/logits`: it lives until the buffer `until` (`lm/embed`) begins.

    If `until` names only a model, the buffer lives until that model ends. `through` names the models that may run in
    between; by default, all models that the order of the models permits.
    """

    buffer: Name
    until: Name
    through: Names | None = None


class Application(Value):
    """Several models, each a problem, that share pools.

    Two models run one after the other unless an entry of `together` names both. If `after` is given instead, it maps a
    model to the models that end before it begins, and models that it does not order may run at the same time. Buffers
    are named `model/id`; the buffers in `persistent` are alive all the time.
    """

    format: Literal["memplan/1"] | None = None
    name: str | None = None
    models: Annotated[dict[Name, Problem], Field(min_length=1, max_length=MOST_MODELS)]
    together: Annotated[tuple[Names, ...], BeforeValidator(tuple_from_list)] = ()
    after: dict[Name, Names] | None = None
    held: Annotated[tuple[Held, ...], BeforeValidator(tuple_from_list)] = ()
    persistent: Names = ()
    pools: Annotated[tuple[Pool, ...], BeforeValidator(tuple_from_list)] | None = None
    objective: Objective | None = None

    @model_validator(mode="after")
    def _check_names(self) -> "Application":
        """Raise ValidationError if a name is unknown or if fields contradict each other; return the application."""
        breaks: list[Break] = []
        groups: list[tuple[Location, tuple[str, ...]]] = [
            (("together", k), group) for k, group in enumerate(self.together)
        ]
        groups += [(("after", name), (name, *before)) for name, before in (self.after or {}).items()]
        groups += [(("held", k, "through"), each.through or ()) for k, each in enumerate(self.held)]
        for where, group in groups:
            if unknown := [name for name in group if name not in self.models]:
                breaks.append((where, f"must name models ({', '.join(self.models)}), got {excerpt(unknown[0])}"))
            breaks += (
                (where, f"must name each model once, got {excerpt(group[i])} again")
                for _, i in repeated_positions(group)
            )
        names: list[tuple[Location, str]] = [(("held", k, "buffer"), each.buffer) for k, each in enumerate(self.held)]
        names += [(("held", k, "until"), each.until) for k, each in enumerate(self.held) if "/" in each.until]
        names += [(("persistent", k), name) for k, name in enumerate(self.persistent)]
        all_names = {
            qualified_name(name, own)
            for name, model in self.models.items()
            for i, own in enumerate(model.buffers.ids)
            if model.buffers.intervals(i)
        }
        breaks += [
            (where, f"must name a buffer with a lifetime, as model/id, got {excerpt(name)}")
            for where, name in names
            if name not in all_names
        ]
        for k, each in enumerate(self.held):
            if "/" not in each.until and each.until not in self.models:
                breaks.append(
                    (("held", k, "until"), f"must name a model, or a buffer in one, got {excerpt(each.until)}")
                )
        if slashed := next((name for name in self.models if "/" in name), None):
            breaks.append((("models",), f"must have names without /, got {excerpt(slashed)}"))
        if self.together and self.after is not None:
            breaks.append((("after",), add_way("must not be given if `together` is given", ONE_OF_THEM)))
        if len({model.pools for model in self.models.values() if model.pools != (Pool(),)}) > 1 and self.pools is None:
            breaks.append((("pools",), "must be given if models have different pools"))
        for name, model in self.models.items():
            if model.moves:
                breaks.append((("models", name, "moves"), "must be left out for several models"))
            table = model.buffers
            counts = table.first[1:] - table.first[:-1]
            bare = (i for i in range(len(table)) if not counts[i] and table.size[i] and i not in table.aliases)
            timeless = next(bare, None)
            if timeless is not None:
                breaks.append((("models", name, "buffers", timeless), "must have a lifetime, got none"))
        if breaks:
            raise_rules(*breaks[:5])
        if self.after is not None:
            _transitive_order(self.after)
        return self

    @property
    def problem(self) -> Problem:
        """The joint problem of all models."""
        return problem_of(self)

    def plan_of(self, model: str, plan: Plan) -> Plan:
        """Return one model's placements in a joint plan, as a plan with the model's original buffer ids."""
        ids = self.models[model].buffers.ids
        rows = [{**dict(plan.placement(qualified_name(model, own))), "id": own} for own in ids]
        return Plan.model_validate({"placements": rows, "read_with": self.models[model].read_with})


def qualified_name(model: str, name: int | str) -> str:
    """Return the id that a model's buffer has in the joint problem, such as `asr/logits`."""
    return f"{model}/{name}"


def problem_of(application: Application) -> Problem:
    """Return the joint problem of an application's models; raises ProblemError if it would have too many pairs."""
    models = application.models
    before = None if application.after is None else _transitive_order(application.after)
    beside = _concurrent_models(application, before)
    spans, total = _model_ranges(models)
    lives = _joint_lifetimes(application, spans, total, beside, before)
    rows, pairs = [], []
    for name, model in models.items():
        for i, own in enumerate(model.buffers.ids):
            row = {k: v for k, v in model.buffers.fields(i).items() if k not in ("start", "end", "lifetimes")}
            row["id"] = qualified_name(name, own)
            if own_lives := merge_spans(lives[qualified_name(name, own)]):  # Aliases may lack lifetimes.
                row["lifetimes"] = own_lives
            if row.get("alias_of") is not None:
                row["alias_of"] = qualified_name(name, row["alias_of"])
            if (relative := row.get("relative")) is not None:
                row["relative"] = {"to": qualified_name(name, relative.to), "offset": relative.offset}
            rows.append(row)
        pairs += [(qualified_name(name, a), qualified_name(name, b)) for a, b in model.conflicts]
    pairs += _concurrent_pairs(application, beside, before)
    first_pools = next((model.pools for model in models.values() if model.pools != (Pool(),)), None)
    pools = application.pools or first_pools
    first = next(iter(models.values()))
    fields: dict[str, Any] = {} if pools is None else {"pools": pools}
    fields["equal_use"] = any(model.equal_use for model in models.values())
    for key in ("may_share", "together", "same_offset"):
        fields[key] = [
            tuple(qualified_name(name, i) for i in group)
            for name, model in models.items()
            for group in getattr(model, key)
        ]
    fields["bank"] = [
        each.model_copy(update={"buffers": tuple(qualified_name(name, i) for i in each.buffers)})
        for name, model in models.items()
        for each in model.bank
    ]
    fields["reuse"] = [
        each.model_copy(
            update={"pairs": tuple((qualified_name(name, a), qualified_name(name, b)) for a, b in each.pairs)}
        )
        for name, model in models.items()
        for each in model.reuse
    ]
    objective = application.objective or first.objective
    plain_fields = {key: value for key, value in fields.items() if value}
    if not any(map(_looks_inclusive, models.values())):
        plain_fields["interval"] = "half-open"  # Consecutive models may look like closed intervals, so state the kind.
    return Problem(name=application.name, buffers=rows, conflicts=pairs, objective=objective, **plain_fields)


def _looks_inclusive(model: Problem) -> bool:
    return "interval" not in model.model_fields_set and len(handovers_of(model.buffers.start, model.buffers.end)[0]) > 0


def times_of_models(application: Application) -> dict[str, tuple[int, int]]:
    """Return each model's time range (start, end) in the joint problem, by the model's name."""
    spans, _ = _model_ranges(application.models)
    return {name: (at, at + end - start) for name, (at, start, end) in spans.items()}


Stretch = tuple[int, int, int]
"""A model's start in the joint problem's time, followed by its start and end in its own time."""


def _model_ranges(models: Mapping[str, Problem]) -> tuple[dict[str, Stretch], int]:
    spans, at = dict[str, Stretch](), 0
    for name, model in models.items():
        start, end = (int(model.buffers.start.min()), int(model.buffers.end.max())) if len(model.buffers) else (0, 1)
        spans[name] = at, start, end
        at += end - start
    return spans, at


def _transitive_order(after: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """Return, for each model, all models that must end before it; raises ValidationError for a cycle."""
    closed: dict[str, set[str]] = {}

    def visit(name: str, path: tuple[str, ...]) -> set[str]:
        if name in path:
            raise_rules((("after",), f"must not form a cycle, got {' after '.join((*path, name))}"))
        if name not in closed:
            closed[name] = {each for early in after.get(name, ()) for each in (early, *visit(early, (*path, name)))}
        return closed[name]

    for name in after:
        visit(name, ())
    return closed


def _concurrent_models(application: Application, before: Mapping[str, set[str]] | None) -> dict[str, set[str]]:
    """Return, for each model, the names of the models that may run at the same time."""
    models = application.models
    if before is None:
        groups = [pair for group in application.together for pair in combinations(group, 2)]
    else:
        groups = [
            (a, b) for a, b in combinations(models, 2) if a not in before.get(b, ()) and b not in before.get(a, ())
        ]
    beside: dict[str, set[str]] = {name: set() for name in models}
    for a, b in groups:
        beside[a].add(b)
        beside[b].add(a)
    return {name: others - {name} for name, others in beside.items()}


def _models_between(
    application: Application, each: Held, before: Mapping[str, set[str]] | None
) -> tuple[str, str, list[str]]:
    maker, reader = each.buffer.partition("/")[0], each.until.partition("/")[0]
    others = [name for name in application.models if name not in (maker, reader)]
    if each.through is not None:
        return maker, reader, [name for name in others if name in each.through]
    if before is None:
        return maker, reader, others
    return maker, reader, [n for n in others if n not in before.get(maker, ()) and reader not in before.get(n, ())]


def _joint_lifetimes(
    application: Application,
    spans: Mapping[str, Stretch],
    total: int,
    beside: Mapping[str, set[str]],
    before: Mapping[str, set[str]] | None,
) -> dict[str, list[tuple[int, int]]]:
    """Return the lifetimes of each buffer, by qualified name (`model/id`), in time steps of the joint problem."""
    models, all_spans = application.models, dict[str, list[tuple[int, int]]]()
    for name, model in models.items():
        shift = spans[name][0] - spans[name][1]
        for i, own in enumerate(model.buffers.ids):
            all_spans[qualified_name(name, own)] = [
                (start + shift, end + shift) for start, end in model.buffers.intervals(i)
            ]
    begins = {name: min(lives)[0] for name, lives in all_spans.items() if lives}
    for each in application.held:
        maker, reader, between = _models_between(application, each, before)
        at, start, end = spans[reader]
        last = at + end - start if "/" not in each.until else begins[each.until] + 1
        all_spans[each.buffer] += [
            (begins[each.buffer], spans[maker][0] + spans[maker][2] - spans[maker][1]),
            (at, last),
        ]
        all_spans[each.buffer] += [(spans[n][0], spans[n][0] + spans[n][2] - spans[n][1]) for n in between]
    return all_spans | {name: [(0, total)] for name in application.persistent}


def _concurrent_pairs(
    application: Application, beside: Mapping[str, set[str]], before: Mapping[str, set[str]] | None
) -> list[tuple[str, str]]:
    """Return the pairs of buffers that may be alive together in a run although their joint lifetimes are disjoint."""
    own = {
        name: [
            qualified_name(name, i)
            for k, i in enumerate(model.buffers.ids)
            if model.buffers.size[k] and k not in model.buffers.aliases
        ]
        for name, model in application.models.items()
    }
    count = sum(len(own[a]) * len(own[b]) for a, others in beside.items() for b in others) // 2
    if count > MOST_PAIRS:
        raise ProblemError(f"together: must result in at most {MOST_PAIRS} pairs of buffers, got {count}")
    pairs = {(x, y): None for a, b in combinations(own, 2) if b in beside[a] for x in own[a] for y in own[b]}
    there = {buffer: {name} for name, buffers in own.items() for buffer in buffers}
    for each in application.held:
        maker, reader, between = _models_between(application, each, before)
        there[each.buffer] = {maker, reader, *between}
    for each in application.held:
        # While one of these models runs, concurrent models may run too, so the buffers that they hold are then alive.
        mine = there[each.buffer]
        for other, its in there.items():
            if any(n in beside[m] for m in mine - its for n in its - mine) and (other, each.buffer) not in pairs:
                pairs[each.buffer, other] = None
    return list(pairs)
