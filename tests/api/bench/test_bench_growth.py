from __future__ import annotations

import pytest

from memplan.api.bench.growth import GrowthPoint, exponents, growth


def test_the_exponent_is_the_slope_of_the_logarithms() -> None:
    square = [GrowthPoint("square", n, 1e-6 * n**2) for n in (100, 1000, 10_000)]
    line = [GrowthPoint("line", n, 1e-6 * n) for n in (100, 10_000)]
    assert exponents(square + line) == pytest.approx({"square": 2.0, "line": 1.0})


def test_one_size_has_no_exponent() -> None:
    assert exponents([GrowthPoint("alone", 100, 1.0)]) == {}


def test_every_step_is_measured_at_every_size() -> None:
    points = growth((500, 100), repeats=1)
    steps = ["columns and live sets", "lower bound", "one order, first fit"]
    assert [(point.n, point.step) for point in points] == [(n, step) for n in (100, 500) for step in steps]
    assert all(point.cpu_time_s > 0 for point in points)
