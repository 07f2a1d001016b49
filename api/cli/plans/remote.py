"""A plan from a service instead of this machine: `memplan plan --server URL`."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from typing import TypeAlias

import httpx

from memplan.api.client.calls import checked
from memplan.api.client.errors import AwayError, ServiceError
from memplan.api.client.http_async import AsyncClient
from memplan.api.client.patience import PATIENCE_S
from memplan.api.options import Options
from memplan.planner.errors import InputError, shown
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import SolveOptions

KEY_VARIABLE = "MEMPLAN_KEY"
_LOOK_EVERY_S = 0.1
Asking: TypeAlias = Callable[[AsyncClient], Coroutine[None, None, Plan]]
_TRIES, _TRY_EVERY_S = 12, 0.25
"""The tries, after an interrupt, to get the plan of the search that was ended."""


class ServerError(InputError):
    """The service cannot be reached, or refuses."""


def ask(server: str, problem: Problem, options: Options, cancelled: threading.Event) -> Plan:
    """Return a service's plan, verified here; when `cancelled` is set, the best one that it knows then.

    The key is that of the environment. Raises ServerError.
    """
    return _answer(server, problem, lambda client: client.plan(problem, options), cancelled)


def ask_to_keep(
    server: str, problem: Problem, old: Plan, eps: str, options: SolveOptions, cancelled: threading.Event
) -> Plan:
    """Return a service's plan that keeps places of an old one, verified here; as `ask`."""
    asked = options.model_dump(exclude={"profile"}) | {"eps": eps}

    async def asking(client: AsyncClient) -> Plan:
        fields = {"problem": problem, "plan": old.model_dump(mode="json", exclude_none=True)}
        return checked(problem, Plan.model_validate(await client.ask("replan", fields, **asked)))

    return _answer(server, problem, asking, cancelled)


def _answer(
    server: str,
    problem: Problem,
    asking: Asking,
    cancelled: threading.Event,
) -> Plan:
    try:
        return asyncio.run(_asked(server, problem, asking, cancelled))
    except httpx.InvalidURL as error:
        raise ServerError(f"server: must be a URL, got {shown(server)}: {error}") from error
    except AwayError as error:
        raise ServerError(f"server: {error} (does `memplan serve` run there?)") from error
    except ServiceError as error:
        raise ServerError(*(f"server: {sentence}" for sentence in str(error).splitlines())) from error


async def _asked(
    server: str,
    problem: Problem,
    ask_it: Asking,
    cancelled: threading.Event,
) -> Plan:
    async with AsyncClient(server, key=os.environ.get(KEY_VARIABLE), patience_s=PATIENCE_S) as client:
        asking = asyncio.create_task(ask_it(client))
        while not asking.done() and not cancelled.is_set():
            await asyncio.wait({asking}, timeout=_LOOK_EVERY_S)
        if asking.done():
            return asking.result()
        asking.cancel()  # which closes the connection, and so ends the search there
        await asyncio.wait({asking})
        return (await _known(client, problem)).model_copy(update={"stop_reason": "cancelled"})


async def _known(client: AsyncClient, problem: Problem) -> Plan:
    for _ in range(_TRIES):
        if (plan := await client.known_plan(problem)) is not None:
            return plan
        await asyncio.sleep(_TRY_EVERY_S)
    return Plan(status="unknown")
