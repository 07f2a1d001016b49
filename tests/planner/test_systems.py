"""Rows of other systems (compilers and runtimes): every module and planner that a row names exists."""

import sys

import pytest

from memplan.planner.extensions import extensions
from memplan.planner.systems import SYSTEMS, System, systems


@pytest.mark.parametrize("system", systems(), ids=lambda system: system.name)
def test_every_module_and_planner_named_by_a_system_exists(system: System) -> None:
    assert system.name in {**SYSTEMS, **extensions("systems")}
    for reader in system.readers:
        __import__(reader.where)
        assert reader.program is None or callable(_object_at(reader.program))
    for planner in system.planners:
        assert callable(planner.load())
    for where in (*system.writers.values(), system.reorders):
        assert where is None or callable(_object_at(where))
    assert system.other_targets.keys() <= system.writers.keys()


def _object_at(where: str) -> object:
    module, name = where.split(":")
    return getattr(sys.modules.get(module) or __import__(module, fromlist=[name]), name)
