"""Every column of an instance is declared; parts, default columns, the hash and symmetry follow the declarations."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from memplan.planner.instance.canonical import problem_hash
from memplan.planner.instance.columns import ALWAYS, I64_MAX, NEVER, Axis, Column, Holds, Scale
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import COLUMNS, CONSTRAINTS, PLAIN, Instance
from memplan.planner.model.buffer_table import column
from memplan.planner.model.problem import Problem
from memplan.solvers.formulation.subinstance import identical, part_of
from memplan.solvers.packing.packer import Packer
from tests.support import constrained_problems
from tests.support.constrained_problems import add_clearances, add_intervals, constrained_problem
from tests.support.random_problems import random_problem
from tests.support.rigid_groups import whole_groups

ALL = frozenset((*constrained_problems.CONSTRAINTS, *constrained_problems.OTHERS))
PROBLEMS = [
    constrained_problem(1, 14, ALL),
    constrained_problem(2, 9, ALL - {"pools"}),
    random_problem(3, 12, frozenset({"holes", "conflicts", "pools", "alignment", "pins", "reserved", "cost"})),
    random_problem(4, 8, unit=64),
]
WITH_RANGES = add_intervals(add_clearances(compile_problem(PROBLEMS[0]), 1), 1)
MIXED = replace(WITH_RANGES, offset_group=np.array([0, 0, *range(2, 14)]), has_equal_use=True)
ROWS: list[dict[str, Any]] = [{"id": k, "size": 8, "start": 0, "end": 3} for k in range(4)]
ALIKE = Problem.model_validate({"buffers": ROWS, "pools": [{"name": "a", "size": 40}, {"name": "b"}]})


def wrong_shapes(instance: Instance) -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of the columns whose shape differs from that of their axis."""
    n, p = len(instance), len(instance.pools)
    shapes = {Axis.BUFFER: (n,), Axis.POOL_AND_BUFFER: (p, n), Axis.START: (n + 1,), Axis.POOL: (p,)}
    shapes[Axis.WHOLE] = ()
    shapes[Axis.LIFETIME] = (int(instance.first[-1]),)
    shapes[Axis.LIVE_SET] = (int(instance.end.max(initial=0)),)
    found = {}
    for name, declared in COLUMNS.items():
        values = getattr(instance, name)
        shape = (len(values),) if declared.axis is Axis.POOL else getattr(values, "shape", ())
        wanted = shapes.get(declared.axis, shape)
        if declared.axis is Axis.LIST:
            wanted = (int(getattr(instance, declared.along)[-1]),)
        if declared.axis is Axis.PAIR:
            wanted = (len(getattr(instance, declared.along)), *((2,) if declared.holds is Holds.BUFFERS else ()))
        if shape != wanted:
            found[name] = shape
    return found


def test_instance_columns_stay_contiguous_if_buffers_are_omitted() -> None:
    pools = [{"name": "a", "size": 100}, {"name": "b"}]
    rows = [{"id": k, "size": 1 + k % 5, "start": k % 7, "end": k % 7 + 1 + k % 3} for k in range(24)]
    for left_out in ({"size": 0, "start": 0, "end": 3}, {"size": 1, "start": 0, "end": 3, "alias_of": 1}):
        problem = Problem.model_validate({"buffers": [*rows, {"id": "left out", **left_out}], "pools": pools})
        instance = compile_problem(problem)
        assert len(instance) == 24
        for name in COLUMNS:
            values = getattr(instance, name)
            assert not isinstance(values, np.ndarray) or values.flags.c_contiguous, name
        assert Packer(instance, column([0])).pack(0, np.arange(24)).min() >= 0


def test_every_instance_column_is_declared_once() -> None:
    assert [field.name for field in fields(Instance)] == list(COLUMNS)
    assert {column.counts for column in COLUMNS.values()} <= {ALWAYS, NEVER, *PLAIN, *CONSTRAINTS}
    told = {column.counts for column in COLUMNS.values()}
    assert told >= CONSTRAINTS.keys(), "a constraint without a column of its own"
    starts = [name for name, column in COLUMNS.items() if column.axis is Axis.START]
    assert {column.along for column in COLUMNS.values()} == {"", *starts, "soft_pairs", "reuse_pairs", "clear_pairs"}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_columns_of_instances_and_their_parts_have_the_declared_shape(problem: Problem) -> None:
    instance = compile_problem(problem)
    kept = whole_groups(instance, np.random.default_rng(5).random(len(instance)) < 0.6)
    assert (wrong_shapes(instance), wrong_shapes(part_of(instance, kept, len(instance.pools) - 1))) == ({}, {})


@pytest.mark.parametrize("name", [name for name, column in COLUMNS.items() if column.axis is Axis.BUFFER])
def test_a_part_of_an_instance_preserves_the_column_values_of_its_buffers(name: str) -> None:
    kept = whole_groups(MIXED, np.random.default_rng(6).random(len(MIXED)) < 0.5)
    part, chosen = part_of(MIXED, kept, 1), np.flatnonzero(kept)
    if COLUMNS[name].holds is Holds.NUMBERS:
        assert getattr(part, name).tolist() == getattr(MIXED, name)[chosen].tolist()
    else:
        is_same = chosen[getattr(part, name)].tolist() == MIXED.anchor[chosen].tolist()
        assert is_same or name in ("colocation", "offset_group")


def change_column(instance: Instance, name: str, column: Column) -> dict[str, Any]:
    """Return changed values for one column, and for the start column of its lists if their lengths change."""
    values = getattr(instance, name)
    if name == "objective":
        return {name: "peak"}
    if name == "has_equal_use":
        return {name: False}
    if name == "barred_ranges":
        return {name: (values[0] + 1, *values[1:])}
    if column.axis is Axis.WHOLE:
        return {name: (*values, 0)}
    if column.axis is Axis.POOL:
        return {name: (values[0]._replace(capacity=values[0].capacity + 1), *values[1:])}
    if column.axis is Axis.LIST:
        starts = getattr(instance, column.along)
        i = int(np.flatnonzero(np.diff(starts))[0])
        j = int(values[starts[i]])
        buffer = np.repeat(np.arange(len(instance)), np.diff(starts))
        stays = ~(((buffer == i) & (values == j)) | ((buffer == j) & (values == i)))
        return {name: values[stays], column.along: np.searchsorted(buffer[stays], np.arange(len(instance) + 1))}
    if column.axis is Axis.PAIR:
        if column.holds is Holds.NUMBERS:
            return {name: values * 2}
        free = [[i, j] for j in range(len(instance)) for i in range(j) if [i, j] not in values.tolist()]
        return {name: np.concatenate((free[:1], values[1:]))}
    copy = values.copy()
    if column.holds is Holds.GROUPS:
        copy[int(np.flatnonzero(values != np.arange(len(values)))[0])] = int(np.flatnonzero(values != values[0])[0])
        return {name: copy}
    at = (0, int(np.flatnonzero(instance.allowed[0])[0])) if copy.ndim == 2 else 0
    copy[at] = not copy[at] if copy.dtype == np.bool_ else copy[at] + (1 if copy[at] < I64_MAX else -1)
    return {name: copy}


@pytest.mark.parametrize("name", [name for name, column in COLUMNS.items() if column.axis is not Axis.START])
def test_each_column_affects_the_hash_exactly_if_it_affects_plans(name: str) -> None:
    if name == "unit":
        return
    other = replace(MIXED, **change_column(MIXED, name, COLUMNS[name]))
    assert MIXED.features >= CONSTRAINTS.keys() | {"cost", "conflicts"}
    assert (problem_hash(PROBLEMS[0], other) == problem_hash(PROBLEMS[0], MIXED)) == (COLUMNS[name].counts == NEVER)


@pytest.mark.parametrize("field", ["capacity", "reserved", "cost", "bank", "bank_shift"])
def test_every_field_of_a_pool_affects_the_hash(field: str) -> None:
    pool = MIXED.pools[1]._replace(capacity=60, is_limited=True)
    first, other = (
        replace(MIXED, pools=(MIXED.pools[0], each))
        for each in (pool, pool._replace(**{field: getattr(pool, field) + 1}))
    )
    assert problem_hash(PROBLEMS[0], first) != problem_hash(PROBLEMS[0], other)


COUNTED = [(name, column.axis) for name, column in COLUMNS.items() if column.counts != NEVER]
OF_BUFFERS = [name for name, axis in COUNTED if axis in (Axis.BUFFER, Axis.POOL_AND_BUFFER)]


@pytest.mark.parametrize("name", OF_BUFFERS)
def test_buffers_that_differ_in_one_column_are_not_identical(name: str) -> None:
    instance = replace(compile_problem(ALIKE), objective="cost")
    assert identical(instance) == [[0, 1, 2, 3]]
    values = getattr(instance, name).copy()
    others = {"page_shift": "page", "distance": "anchor"}  # columns that take effect only together with another column
    more = {name: values}
    if name in others:
        more[others[name]] = asked = getattr(instance, others[name]).copy()
        asked[..., 2:] = 3
    values[..., 0] = 1 if COLUMNS[name].holds is Holds.GROUPS else 5 + values[..., 0]
    if values.dtype == np.bool_:
        values[0, 0] = False
    if name == "allowed":
        values[1:, 0] = False
    assert all(0 not in group for group in identical(replace(instance, **more)))


def test_the_unit_divides_all_quantities_in_bytes() -> None:
    data = ALIKE.model_dump(exclude_defaults=True)
    assert compile_problem(ALIKE).unit == 8
    data["buffers"][0]["hint"] = 3
    assert compile_problem(Problem.model_validate(data)).unit == 8
    for field in ({"size": 4}, {"offset": 4, "pools": ("a",)}, {"no_cross": 12}, {"relative": {"to": 1, "offset": 4}}):
        rows = (data["buffers"][0] | field, *data["buffers"][1:])
        assert compile_problem(Problem.model_validate(data | {"buffers": rows})).unit == 4
    in_bytes = {name for name, column in COLUMNS.items() if column.scale is not Scale.NONE}
    assert in_bytes >= {"size", "hint", "alignment", "lowest", "highest", "page", "page_shift", "distance"}
