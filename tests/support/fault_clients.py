"""A client that survives crashes of servers, and checks that every accepted job ends correctly."""

import json
import random
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from lab.families import draw_tight_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from tests.support.machines import Machine, request

ENDED = ("succeeded", "cancelled", "failed", "expired")
_PATIENCE_S = 120.0


@dataclass
class Client:
    """A client of several servers, any of which may be down; it remembers the accepted jobs."""

    servers: Sequence[Machine]
    draw: random.Random
    accepted: dict[str, Problem] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    """The ids of accepted jobs of other questions than plan."""

    def call(self, method: str, path: str, **said: Any) -> httpx.Response:
        """Send a request to one server after another until one answers; a repeated request must be harmless."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            server = self.draw.choice(self.servers)
            try:
                answer = request(method, f"{server.url}{path}", 20.0, **said)
                if answer.status_code < 500:
                    return answer
                said_last = answer.text
            except httpx.TransportError as error:
                said_last = repr(error)
            assert time.monotonic() < deadline, f"{method} {path}: no server answered in time: {said_last}"
            time.sleep(0.1)

    def submit(self, problem: Problem, **options: Any) -> str:
        """Submit a plan job, and return its id; repeated attempts create only one job."""
        body = {"problem": json.loads(problem.model_dump_json(exclude_unset=True)), "options": options}
        name = self._submit("plan", body)
        self.accepted[name] = problem
        return name

    def submit_other(self, kind: str, body: dict[str, Any], **options: Any) -> str:
        name = self._submit(kind, body | {"options": body.get("options", {}) | options})
        self.others.add(name)
        return name

    def _submit(self, kind: str, body: dict[str, Any]) -> str:
        again = {"Idempotency-Key": uuid.uuid4().hex}
        answer = self.call("POST", "/v1/jobs", params={"kind": kind}, json=body, headers=again)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def job(self, name: str) -> dict[str, Any]:
        return dict(self.call("GET", f"/v1/jobs/{name}").json())

    def plan(self, name: str) -> bytes:
        return self.call("GET", f"/v1/jobs/{name}/plan").content

    def wait(self, name: str, patience_s: float = _PATIENCE_S) -> dict[str, Any]:
        deadline = time.monotonic() + patience_s
        while True:
            job = self.job(name)
            if job.get("state") in ENDED:
                return job
            assert time.monotonic() < deadline, f"job {name} has not ended: {job}"
            time.sleep(0.1)

    def check_all(self) -> dict[str, int]:
        """Wait for all accepted jobs, check that each ended once with one valid plan, and count them by state."""
        states: dict[str, int] = {}
        for name in (*self.accepted, *self.others):
            job = self.wait(name)
            state = job["state"]
            states[state] = states.get(state, 0) + 1
            check_events(self.call("GET", f"/v1/jobs/{name}/events").text)
            if (problem := self.accepted.get(name)) is None:
                found = self.call("GET", f"/v1/jobs/{name}/result").status_code
                assert (found == 200) >= (state == "succeeded"), f"job {name} is {state}, its result {found}"
                continue
            first = self.call("GET", f"/v1/jobs/{name}/plan")
            assert first.content == self.call("GET", f"/v1/jobs/{name}/plan").content
            if first.status_code != 200:
                assert state in ("cancelled", "expired"), f"a job ended without a plan: {job}"
                continue
            plan = Plan.model_validate_json(first.content)
            if plan.status in ("optimal", "feasible"):
                assert not verify(problem, plan)
        return states


def check_events(stream: str) -> None:
    """Check that a stream of events is numbered without gaps, begins with `queued` and has one end."""
    blocks = [dict(line.split(": ", 1) for line in block.splitlines() if ": " in line) for block in _blocks(stream)]
    kinds = [block["event"] for block in blocks if "event" in block]
    assert kinds[0] == "queued", kinds
    assert kinds.count("finished") == 1, kinds
    assert kinds[-1] == "finished", kinds
    numbers = [int(block["id"]) for block in blocks if "event" in block]
    assert numbers == sorted(set(numbers)), numbers


def _blocks(stream: str) -> list[str]:
    return [block for block in stream.replace("\r\n", "\n").split("\n\n") if block.strip()]


def easy_problem(draw: random.Random) -> Problem:
    rows = [{"id": k, "size": draw.randint(1, 1000), "start": k, "end": k + draw.randint(1, 5)} for k in range(20)]
    return Problem.model_validate({"buffers": rows})


def hard_problem(draw: random.Random) -> Problem:
    """Return a random problem whose search takes longer than these tests wait."""
    return draw_tight_problem(draw.randrange(2**31), 200, 1000, 20)
