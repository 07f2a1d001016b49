"""Sources of plans for a compiler: this process or a service. Either source returns only verified plans."""

from dataclasses import dataclass

from memplan.api.client.http import Client
from memplan.api.client.http_async import PATIENCE_S
from memplan.api.client.values import AwayError, RefusedError
from memplan.api.options import Options
from memplan.planner.errors import MemplanError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem, Profile
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S
from memplan.solvers.portfolio.solve import solve

_BUSY, _BROKEN = 429, 500
"""The HTTP statuses of a service that cannot answer now: 429, and every status from 500."""


class ServiceAwayError(MemplanError):
    """The service does not answer, or reports that it is unavailable."""


class NoPlanError(MemplanError):
    """The solver or the service returned no plan."""


class NothingFitsError(NoPlanError):
    """The problem is proved infeasible: no plan exists."""


@dataclass(frozen=True)
class Source:
    """A source of plans: the service at the URL `server`, or this process if `server` is None.

    `key` authenticates to the service. Requests to an unavailable or busy service are repeated for `patience_s`
    seconds. `deterministic` gives the same plan for the same problem on any machine. `profile` states the goal for
    several memories: `speed`, `balanced` (the default) or `size`.
    """

    server: str | None = None
    key: str | None = None
    time_limit_s: float = DEFAULT_TIME_LIMIT_S
    deterministic: bool = False
    patience_s: float = PATIENCE_S
    profile: Profile | None = None

    def plan(self, problem: Problem) -> Plan:
        """Return a verified plan of the problem.

        Raises NoPlanError if no plan was found, ServiceAwayError if the service is unavailable, RefusedError if it
        refuses the problem, and WrongAnswerError if its plan is wrong.
        """
        if self.server is None:
            plan = solve(
                problem, time_limit_s=self.time_limit_s, deterministic=self.deterministic, profile=self.profile
            )
        else:
            plan = self._plan_by_server(self.server, problem)
        if plan.status not in ("optimal", "feasible"):
            because = plan.explanation.message if plan.explanation else f"status {plan.status}"
            raise (NothingFitsError if plan.status == "infeasible" else NoPlanError)(because)
        return plan

    def _plan_by_server(self, server: str, problem: Problem) -> Plan:
        """Return the service's verified plan. Raises ServiceAwayError if the service is busy, broken or away."""
        options = Options(time_limit_s=self.time_limit_s, deterministic=self.deterministic, profile=self.profile)
        try:
            with Client(server, key=self.key, patience_s=self.patience_s) as client:
                plan: Plan = client.plan(problem, options)
                return plan
        except AwayError as error:
            raise ServiceAwayError(str(error)) from error
        except RefusedError as error:
            if error.status == _BUSY or error.status >= _BROKEN:
                raise ServiceAwayError(f"{server}: {error.status}, {error}") from error
            raise


HERE = Source()
"""The default source, which computes plans in this process with default options."""
