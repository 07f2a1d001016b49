"""Slides are checked by their ranges of rows; one byte less than needed is found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memplan.capabilities.cascade.access.from_graph import access_graph
from memplan.capabilities.cascade.cascade import cascade
from memplan.capabilities.cascade.regions.counts import check_slides
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.planner.errors import InvalidPlanError, OptionError
from tests.support.networks import two_convolutions


def test_a_slide_one_byte_too_low_is_refused() -> None:
    (point,) = cascade(two_convolutions(), CascadeOptions(overlap="sliding")).points
    assert check_slides(point.cascade, point.slides) > 20
    (region,) = [region for region in point.cascade.regions if region.slide is not None]
    assert region.slide is not None
    assert region.slide.down > 0
    low = region.slide.model_copy(update={"down": region.slide.down - 1})
    wrong = replace(point.cascade, regions=(region.model_copy(update={"slide": low}),))
    with pytest.raises(InvalidPlanError, match="must end below byte"):
        check_slides(wrong, (low,))


def test_slides_of_tensors_that_do_not_lie_row_by_row_are_refused() -> None:
    graph = replace(access_graph(two_convolutions()), layout="NCHW")
    assert cascade(graph).points
    with pytest.raises(OptionError, match="sliding: needs tensors that lie row by row"):
        cascade(graph, CascadeOptions(overlap="sliding"))
