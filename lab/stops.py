"""Stop questions at random times: `python -m lab.stops [--count 20000] [--seed S] [--entrance NAME] [--only QUESTION]`.

Random questions of all kinds are stopped in each of these ways in turn; `--entrance` selects one way:

- `clock`, `cancelled`: in this process, when the question checks the time for the n-th time, because its deadline
  passes or its caller cancels it. Each question is stopped at up to 20 random n.
- `limit`, `hang-up`, `job`: at a separate server, by a short limit, by a client that closes the connection, and as a
  job that is cancelled. `memory`: at a server whose processes have a few hundred MiB.

A stopped question must return a response that passes its own verification and does not contradict the complete
response; or it must end with status 504 (as a job: cancelled without a result) and a message about its progress. Any
other outcome is printed, and makes the command fail. The last lines are a table with a row per question. The row
includes two maxima over all stops: the number of further time checks and the CPU seconds from the stop to the end.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import httpx
from pydantic import TypeAdapter, ValidationError

from lab.support.drawn_calls import draw_call
from memplan.planner.errors import InputError
from memplan.questions import QUESTIONS
from memplan.questions.question import Question
from memplan.questions.question.wire import read_body_options, read_question
from tests.runtimes.stopping import CheckCounter, stop_question
from tests.support.machines import Machine, machines, server

HERE, THERE = ("clock", "cancelled"), ("limit", "hang-up", "job", "memory")
_MOMENTS = 20
"""The maximum number of stops of one question in this process, each at another time check."""
_SHARE_THERE = 0.3
"""The fraction of all stops that are made at a server, over HTTP."""
_AT_ONCE = 4
_SIZES_HERE, _SIZES_THERE = (3, 60), (5, 3_000)
_LIMIT_S, _PATIENCE_S = 2.0, 60.0
_MEMORY = {"worker_memory_bytes": str(400 * 2**20)}
_COLUMNS = ("stops", "answered", "noted", "hung up", "504", "busy", "refused", "wrong", "500")
_PAIRS = (("peak", "lower_bound"), ("cost", "cost_lower_bound"))
"""Pairs (value, bound) of response fields: a value in one response is never below a bound in another one."""
_ROUNDING = 1e-12
"""The maximum relative difference between two floating-point sums of the same terms in different orders."""
_OF_SCHEDULES = "latency"
"""The field that the lower bound of a `schedule` limits by default."""


@dataclass
class Tally:
    """Outcomes of stops by question, faults (`wrong`), and the most time checks and CPU seconds after a stop."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    asked_on: Counter[str] = field(default_factory=Counter)
    went_on_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    wrong: list[str] = field(default_factory=list)

    def add(self, name: str, outcome: str, words: str = "") -> None:
        """Count the outcome of one stop, and print an outcome that is a fault."""
        self.counts[name]["stops"] += 1
        self.counts[name][outcome] += 1
        if outcome in ("wrong", "500"):
            self.wrong.append(f"{name}: {outcome}: {words}")
            print(self.wrong[-1], flush=True)

    def table(self) -> Iterator[str]:
        yield " | ".join(("question", *_COLUMNS, "time checks after stop", "CPU s after stop"))
        for name, counts in sorted(self.counts.items()):
            row = name, *(counts[column] for column in _COLUMNS), self.asked_on[name], f"{self.went_on_s[name]:.2f}"
            yield " | ".join(map(str, row))
        total = sum(self.counts.values(), Counter[str]())
        yield " | ".join(map(str, ("all", *(total[column] for column in _COLUMNS))))


@dataclass
class TimedAsks(CheckCounter):
    """A counter of a question's time checks, with the CPU time of the first check that tells it to stop."""

    over_cpu_s: float | None = None

    def is_over(self) -> bool:
        """Count a time check, and return True if the question must stop now."""
        is_over = super().is_over()
        if is_over and self.over_cpu_s is None:
            self.over_cpu_s = time.process_time()
        return is_over


DrawnQuestion = tuple[str, dict[str, Any], str]
"""A question's name, the body of its request, and a description of its inputs."""


def draw_question(seed: str, number: int, name: str, sizes: tuple[int, int]) -> DrawnQuestion:
    """Return a random question called `name` with a body of the given sizes; seed and number determine it."""
    draw = random.Random(f"{seed} {number}")
    _, body, _, words = draw_call(draw, *sizes, limits=(_LIMIT_S, _LIMIT_S), name=name)
    return name, json.loads(body), f"seed {seed} number {number}, {words}"


def stopped_here(
    drawn_question: DrawnQuestion, draw: random.Random, ways: tuple[str, ...], most: int, tally: Tally
) -> int:
    """Stop a question in this process at random time checks, in a random one of `ways`; return the number of stops."""
    (name, body, words), whole = drawn_question, CheckCounter()
    question, done = QUESTIONS[name], 0
    answers: dict[str, Any] = {}
    if (outcome := _try_question(question, body, whole, False, answers)) not in ("answered", "noted"):
        tally.add(name, outcome.partition(":")[0], f"{words}, whole: {outcome}")
        return 1
    whole_answer = answers.get("found")
    moments = draw.sample(range(whole.count + 1), min(_MOMENTS, whole.count + 1, max(1, most)))
    for last in sorted(moments):
        way, asks = draw.choice(ways), TimedAsks(last)
        answers.clear()
        outcome = _try_question(question, body, asks, way == "clock", answers)
        if outcome == "answered" and (why := contradiction(name, body, whole_answer, answers["found"])) is not None:
            outcome = f"wrong: {why}"
        if asks.over_cpu_s is not None:
            tally.asked_on[name] = max(tally.asked_on[name], asks.count - int(last))
            tally.went_on_s[name] = max(tally.went_on_s[name], time.process_time() - asks.over_cpu_s)
        kind = {"not in time": "504"}.get(outcome, outcome.partition(":")[0])
        tally.add(
            name, kind, f"{words}, {way} after time check {last} of {whole.count}: {outcome}\n{json.dumps(body)[:4000]}"
        )
        done += 1
    return done


def _try_question(
    question: Question[Any], body: dict[str, Any], asks: CheckCounter, by_clock: bool, into: dict[str, Any]
) -> str:
    """Run a question until the counter `asks` stops it; return the outcome (or a traceback), and fill `into`."""
    try:
        return stop_question(question, body, asks, by_clock=by_clock, take=lambda found: into.update(found=found))
    except Exception:  # noqa: BLE001 - every fault is reported as a response
        return f"500: {traceback.format_exc(limit=-6)}"


def contradiction(name: str, body: dict[str, Any], whole: Any, found: Any) -> str | None:
    """Return a line if a bound in the whole or the stopped response (`found`) is above the other one's value."""
    if body["options"].get("recompute"):  # The bound of one answer does not hold for other repeated operations.
        return None
    goal = body["options"].get("objective", _OF_SCHEDULES)
    for value, bound in ((goal, "lower_bound"),) if name == "schedule" else _PAIRS:
        for one, other in ((whole, found), (found, whole)):
            least, most = getattr(one, bound, None), getattr(other, value, None)
            if isinstance(least, int | float) and isinstance(most, int | float) and least > most + _ROUNDING * most:
                return f"{bound} {least} is above {value} {most} of the other response"
    return None


async def stopped_there(
    own: Machine, drawn_question: DrawnQuestion, way: str, draw: random.Random, tally: Tally
) -> None:
    """Stop a question at a server: by a short limit, a closed connection or a cancelled job; count the outcome."""
    name, body, words = drawn_question
    limit_s = round(draw.choice((0.02, 0.1, 0.3, 1.0)), 3) if way in ("limit", "memory") else _LIMIT_S
    body = body | {"options": body.get("options", {}) | {"time_limit_s": limit_s}}
    content = json.dumps(body).encode()
    told = f"{words}, {way}, limit {limit_s}"
    try:
        if way == "hang-up":
            async with asyncio.timeout(draw.random() * _LIMIT_S):
                status, answer = await _exchange(own, f"/v1/{name}", content)
        elif way == "job":
            status, answer = await _cancelled_job(own, name, content, draw.random() * _LIMIT_S)
        else:
            async with asyncio.timeout(_PATIENCE_S):
                status, answer = await _exchange(own, f"/v1/{name}", content)
    except TimeoutError:
        tally.add(name, "hung up" if way == "hang-up" else "wrong", f"{told}: no response within {_PATIENCE_S:g} s")
        return
    outcome, says = _judge_answer(QUESTIONS[name], body, status, answer)
    tally.add(name, outcome, f"{told}: {says}")


async def _cancelled_job(own: Machine, name: str, content: bytes, after_s: float) -> tuple[int, bytes]:
    """Submit a question as a job, cancel it after `after_s` seconds, and return (status, body of the result).

    The status is that of a direct call: 504 for a job that was cancelled without a result.
    """
    status, answer = await _exchange(own, f"/v1/jobs?kind={name}", content)
    if status != 202:
        return status, answer
    path = f"/v1/jobs/{json.loads(answer)['id']}"
    await asyncio.sleep(after_s)
    await _exchange(own, path, b"", "DELETE")
    give_up = time.monotonic() + _PATIENCE_S
    while time.monotonic() < give_up:
        job = json.loads((await _exchange(own, path, b"", "GET"))[1])
        if job["state"] in ("succeeded", "cancelled"):
            status, answer = await _exchange(own, f"{path}/result", b"", "GET")
            return (504, answer) if status in (404, 409) else (status, answer)
        if job["state"] in ("failed", "expired"):
            error = str(job.get("error"))
            return (500 if " fault " in error or "in a worker" in error else 422), error.encode()
        await asyncio.sleep(0.05)
    raise TimeoutError


async def _exchange(own: Machine, path: str, body: bytes, method: str = "POST") -> tuple[int, bytes]:
    """Send a request on a new connection, and return (status, body) of the response; the status 0 if there is none."""
    headers = {"Content-Type": "application/json"}
    async with httpx.AsyncClient(timeout=None, trust_env=False, verify=False, headers=headers) as client:
        try:
            answer = await client.request(method, f"{own.url}{path}", content=body)
        except httpx.TransportError as error:
            return 0, repr(error).encode()
    return answer.status_code, answer.content


def _judge_answer(question: Question[Any], body: dict[str, Any], status: int, answer: bytes) -> tuple[str, str]:
    """Return (outcome of an HTTP response, a column of the table; the response's text, with any fault found)."""
    says = answer[:600].decode("utf-8", "replace")
    if status in (504, 429, 503):
        return "504" if status == 504 else "busy", says
    if 400 <= status < 500:
        return "refused", says
    if status != 200:
        return "500", f"status {status}: {says}"
    if "format" in body["options"]:
        return "answered", says
    try:
        values = read_question(question, body)
        options = read_body_options(question, body, {})
        found = TypeAdapter(question.answer).validate_json(answer)
        why = question.refutes({**values, "options": options}, found)
    except InputError as error:
        return "wrong", f"the server accepted a request that this process refuses: {error}"
    except ValidationError as error:
        return "wrong", f"not a response of this question: {error}: {says}"
    return ("answered", says) if why is None else ("wrong", f"{why}: {says}")


async def _stop_at_servers(count: int, seed: str, ways: tuple[str, ...], names: list[str], tally: Tally) -> None:
    """Stop `count` random questions at servers, several concurrently; also count faults in the servers' logs."""
    with tempfile.TemporaryDirectory(prefix="memplan-stops-") as folder:
        servers: dict[bool, Machine] = {}
        for is_small in {way == "memory" for way in ways}:
            path = Path(folder) / str(is_small)
            path.mkdir()
            servers[is_small] = server(str(is_small), path, **(_MEMORY if is_small else {}))
        numbers = iter(range(count))

        async def ask() -> None:
            for k in numbers:
                draw, way = random.Random(f"{seed} there {k}"), ways[k % len(ways)]
                drawn_question = draw_question(f"{seed} there", k, names[k // len(ways) % len(names)], _SIZES_THERE)
                await stopped_there(servers[way == "memory"], drawn_question, way, draw, tally)

        with machines(*servers.values()):
            await asyncio.gather(*(ask() for _ in range(_AT_ONCE)))
        for log in Path(folder).glob("*/*.log"):
            for line in [line for line in log.read_text().splitlines() if " fault " in line or "is replaced" in line]:
                tally.wrong.append(line)
                print(line, flush=True)


def main() -> int:
    """Stop the requested number of questions and print the outcomes; return 1 if any was wrong, else 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=inf, help="time limit of the stops in this process")
    parser.add_argument("--seed", default=None, help="random if omitted; it is printed")
    parser.add_argument("--entrance", choices=(*HERE, *THERE), action="append")
    parser.add_argument("--only", choices=tuple(QUESTIONS), action="append", help="questions")
    given = parser.parse_args()
    seed = given.seed or str(random.SystemRandom().randrange(2**32))
    names, tally, began = given.only or [*QUESTIONS], Tally(), time.monotonic()
    here = tuple(way for way in HERE if given.entrance is None or way in given.entrance)
    there = tuple(way for way in THERE if given.entrance is None or way in given.entrance)
    print(f"seed {seed}", flush=True)
    count_there = 0 if not there else given.count if not here else round(given.count * _SHARE_THERE)
    done, number = 0, 0
    while here and done < given.count - count_there and time.monotonic() - began < given.seconds:
        drawn_question = draw_question(seed, number, names[number % len(names)], _SIZES_HERE)
        left = given.count - count_there - done
        done += stopped_here(drawn_question, random.Random(f"{seed} stops {number}"), here, left, tally)
        number += 1
    if count_there:
        asyncio.run(_stop_at_servers(count_there, seed, there, names, tally))
    print("\n".join(tally.table()))
    print(f"{len(tally.wrong)} wrong, {time.monotonic() - began:.0f} s")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
