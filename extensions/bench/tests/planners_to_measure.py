"""Planners with known behaviour, for tests of measurements: functions (problem, time_limit_s) -> offsets in bytes."""

import os
import subprocess
import sys
import time

import numpy as np

from memplan.planner.errors import OptionError
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.problem import Problem

BUSY_S = 0.25
BLOCK_BYTES = 300 * 2**20
_BURN = f"import time\nwhile time.process_time() < {BUSY_S}: pass"


def stack(problem: Problem, time_limit_s: float) -> I64:
    return np.cumsum(problem.buffers.size) - problem.buffers.size


def offset_list(problem: Problem, time_limit_s: float) -> list[int]:
    return [int(offset) for offset in stack(problem, time_limit_s)]


def offset_map(problem: Problem, time_limit_s: float) -> dict[int | str, int]:
    return dict(zip(problem.buffers.ids, offset_list(problem, time_limit_s), strict=True))


def short_list(problem: Problem, time_limit_s: float) -> list[int]:
    return [0]


def overlap(problem: Problem, time_limit_s: float) -> I64:
    return np.zeros(len(problem.buffers), dtype=np.int64)


def sleep(problem: Problem, time_limit_s: float) -> I64:
    time.sleep(BUSY_S)
    return stack(problem, time_limit_s)


def burn(problem: Problem, time_limit_s: float) -> I64:
    end = time.process_time() + BUSY_S
    while time.process_time() < end:
        pass
    return stack(problem, time_limit_s)


def burn_in_a_child(problem: Problem, time_limit_s: float) -> I64:
    subprocess.run([sys.executable, "-c", _BURN], check=True)
    return stack(problem, time_limit_s)


def fill_memory(problem: Problem, time_limit_s: float) -> I64:
    block = np.ones(BLOCK_BYTES, dtype=np.uint8)
    return stack(problem, time_limit_s) + (int(block[-1]) - 1)


def run_forever(problem: Problem, time_limit_s: float) -> I64:
    while True:
        time.sleep(1)


def give_up(problem: Problem, time_limit_s: float) -> I64:
    raise TimeoutError


def refuse(problem: Problem, time_limit_s: float) -> I64:
    raise OptionError("solver: must support the problem")


def fail(problem: Problem, time_limit_s: float) -> I64:
    raise ArithmeticError("two and two are five")


def crash(problem: Problem, time_limit_s: float) -> I64:
    os.abort()


def chatter(problem: Problem, time_limit_s: float) -> I64:
    print('{"outcome": "plan", "peak": 0}', flush=True)
    return stack(problem, time_limit_s)
