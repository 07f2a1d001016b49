"""Several models in one arena against all orders: `python -m lab.together 1000` draws so many small applications."""

from __future__ import annotations

import sys

from memplan import Application, solve
from memplan.planner.audit import verify
from tests.support.applications import conflicts_of, drawn_application, least_peak


def main() -> None:
    """Plan drawn applications and count those that differ from the best of all orders."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    wrong = 0
    for seed in range(count):
        application = drawn_application(seed)
        problem = Application.model_validate(application).problem
        plan = solve(problem, time_limit_s=5)
        best = least_peak(*conflicts_of(application))
        if (plan.status, plan.peak) != ("optimal", best) or verify(problem, plan):
            wrong += 1
            print(f"seed {seed}: {plan.status} {plan.peak}, the best of all orders {best}", flush=True)
    print(f"{count} small applications: {wrong} wrong")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
