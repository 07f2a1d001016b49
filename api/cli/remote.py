"""Answers from a service, verified locally: the flag `--server URL` of question commands."""

import asyncio
import os
from typing import Any

import httpx

from memplan.api.client.http_async import PATIENCE_S, AsyncClient
from memplan.api.client.values import AwayError, ServiceError
from memplan.planner.errors import InputError, excerpt
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions.inputs.values import InputValues
from memplan.questions.question import Control, Question, QuestionOptions

KEY_VARIABLE = "MEMPLAN_KEY"
_LOOK_EVERY_S = 0.1
_PLAN = "plan"
_TRIES, _TRY_EVERY_S = 12, 0.25
"""After an interrupt, the number of requests for the best plan so far, and the seconds between them."""


class ServerError(InputError):
    """The service cannot be reached, or it refused the request."""


def ask_service(
    server: str,
    question: Question[Any],
    values: InputValues,
    options: QuestionOptions,
    control: Control,
    is_proved: bool = False,
) -> Any:
    """Return the verified answer of the service at the URL `server`; with `is_proved`, also require a proof.

    The key is read from the environment variable MEMPLAN_KEY. Raises ServerError.
    """
    if not server.startswith(("http://", "https://")):
        meant = f"http://{server.rpartition('://')[2]}"
        raise ServerError(f"server: must begin with http:// or https://, got {excerpt(server)} (did you mean {meant}?)")
    try:
        return asyncio.run(_ask_server(server, question, values, options, control, is_proved))
    except httpx.InvalidURL as error:
        raise ServerError(f"server: must be a URL, got {excerpt(server)}: {error}") from error
    except AwayError as error:
        raise ServerError(f"server: {error} (does `memplan serve` run there?)") from error
    except ServiceError as error:
        raise ServerError(*(f"server: {sentence}" for sentence in str(error).splitlines())) from error


async def _ask_server(
    server: str,
    question: Question[Any],
    values: InputValues,
    options: QuestionOptions,
    control: Control,
    is_proved: bool,
) -> Any:
    """Return a service's answer to a question; if the user cancels `plan`, return the service's best plan so far.

    Raises ServerError if the user cancels any other question.
    """
    async with AsyncClient(server, key=os.environ.get(KEY_VARIABLE), patience_s=PATIENCE_S) as client:
        asking = asyncio.create_task(client.answer(question, values, options))
        while not asking.done() and not control.cancelled.is_set():
            await asyncio.wait({asking}, timeout=_LOOK_EVERY_S)
        if asking.done():
            answer = asking.result()
            return await client.proved(values["problem"], answer, options) if is_proved else answer
        asking.cancel()  # Cancelling closes the connection, so the service ends its search.
        await asyncio.wait({asking})
        if question.name == _PLAN:
            return (await _fetch_best_plan(client, values["problem"])).model_copy(update={"stop_reason": "cancelled"})
        raise ServerError(f"{question.name}: was interrupted before the service had answered")


async def _fetch_best_plan(client: AsyncClient, problem: Problem) -> Plan:
    for _ in range(_TRIES):
        if (plan := await client.known_plan(problem)) is not None:
            return plan
        await asyncio.sleep(_TRY_EVERY_S)
    return Plan(status="unknown")
