"""Stateful test: the job store agrees with a simple model after random actions of callers and workers."""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import delete

from memplan.api.refusals import FullError
from memplan.api.store import schema
from memplan.api.store.errors import RepeatedKeyError
from memplan.api.store.job import ENDED, OPEN, Job, State, WorkAnswer
from memplan.api.store.store import Store
from memplan.api.store.tables.leases import MOST_LAPSES
from tests.support.depth import DEPTH
from tests.support.made_jobs import BETTER, FOUND, event_kinds, new_job, states

MOST, MOST_OF_KEY = 5, 3
HOLDERS = st.sampled_from(["here", "there"])
KEYS = st.sampled_from([None, "a", "b"])
ANSWERS = st.sampled_from([None, WorkAnswer(b"first", "feasible"), WorkAnswer(b"second", "optimal")])
PICKED = st.integers(0, 99)


@dataclass
class ExpectedJob:
    key: str | None
    priority: int
    digest: str | None
    is_late: bool
    state: State = "queued"
    holder: str | None = None
    lease: int = 0
    is_over: bool = False
    attempts: int = 0
    lapses: int = 0
    failures: int = 0
    is_cancel_asked: bool = False
    answer: bytes | None = None
    events: list[str] = field(default_factory=lambda: ["queued"])

    def waits_again(self) -> None:
        self.state, self.holder = "queued", None
        self.events.append("retried")

    def ends(self, state: State) -> None:
        self.state = state
        self.events.append("finished")


class Machine(RuleBasedStateMachine):
    """Random sequential actions of callers and two workers; stale claims are used like valid ones."""

    store: Store

    def __init__(self) -> None:
        super().__init__()
        with self.store._database.writing() as connection:
            connection.execute(delete(schema.jobs))
        self.kept: dict[str, ExpectedJob] = {}
        self.keys: dict[str, str] = {}
        self.claims: list[Job] = []

    def jobs_in_state(self, *states: State) -> list[str]:
        return [name for name, job in self.kept.items() if job.state in states]

    def running_jobs(self, holder: str) -> dict[str, ExpectedJob]:
        return {name: job for name, job in self.kept.items() if (job.state, job.holder) == ("running", holder)}

    def draw_claim(self, at: int) -> tuple[Job, ExpectedJob | None]:
        """Return a claim, of any age, and the expected state of its job if the claim still holds."""
        claim = self.claims[at % len(self.claims)]
        job = self.kept.get(claim.id)
        holds = job is not None and (job.state, job.holder, job.lease) == ("running", claim.lease_holder, claim.lease)
        return claim, job if holds else None

    @initialize(keys=st.lists(KEYS, min_size=3, max_size=4), holder=HOLDERS)
    def begin(self, keys: list[str | None], holder: str) -> None:
        """Begin with several jobs, one of them running, because few random sequences would get that far."""
        for key in keys:
            self.submit(key, 0, False, None)
        self.claim(holder, 1, 1, False)

    @rule(
        key=KEYS,
        priority=st.integers(-1, 1),
        is_late=st.booleans(),
        request=st.sampled_from([None, None, None, ("x", "1"), ("x", "2"), ("y", "1")]),
    )
    def submit(self, key: str | None, priority: int, is_late: bool, request: tuple[str, str] | None) -> None:
        repeated, digest = request or (None, None)
        said: dict[str, Any] = {"idempotency_key": repeated, "request_digest": digest}
        job = new_job(key_id=key, priority=priority, deadline_at=time.time() - 1 if is_late else None, **said)
        before = self.keys.get(repeated or "")
        is_open = [each.key for each in self.kept.values() if each.state in OPEN]
        if before in self.kept:
            if self.kept[before].digest == digest:
                assert self.store.jobs.add(job, MOST, MOST_OF_KEY).id == before
            else:
                with pytest.raises(RepeatedKeyError):
                    self.store.jobs.add(job, MOST, MOST_OF_KEY)
        elif len(is_open) >= MOST or (key is not None and is_open.count(key) >= MOST_OF_KEY):
            with pytest.raises(FullError):
                self.store.jobs.add(job, MOST, MOST_OF_KEY if key is not None else None)
        else:
            assert self.store.jobs.add(job, MOST, MOST_OF_KEY if key is not None else None).id == job.id
            self.kept[job.id] = ExpectedJob(key, priority, digest, is_late)
            if repeated is not None:
                self.keys[repeated] = job.id

    @precondition(lambda self: self.jobs_in_state("queued"))
    @rule(holder=HOLDERS, most=st.integers(1, 3), of_key=st.integers(1, 2), is_over=st.booleans())
    def claim(self, holder: str, most: int, of_key: int, is_over: bool) -> None:
        runs = Counter(job.key for job in self.running_jobs(holder).values())
        wanted = []
        for _ in range(most):
            waits = [
                (-job.priority, name)
                for name, job in self.kept.items()
                if job.state == "queued" and runs[job.key] < of_key and name not in wanted
            ]
            if waits:
                wanted.append(min(waits)[1])
                runs[self.kept[wanted[-1]].key] += 1
        found = self.store.leases.claim(holder, most, of_key, -1.0 if is_over else 60.0)
        assert [each.id for each in found] == wanted
        for each in found:
            job = self.kept[each.id]
            assert each.answer == job.answer
            job.state, job.holder, job.is_over = "running", holder, is_over
            job.lease += 1
            job.attempts += 1
            job.events.append("started")
        self.claims += found

    @precondition(lambda self: self.claims)
    @rule(at=PICKED, count=st.integers(0, 2), best=ANSWERS)
    def report(self, at: int, count: int, best: WorkAnswer | None) -> None:
        claim, job = self.draw_claim(at)
        assert self.store.leases.report(claim, [(FOUND, 0.1), (BETTER, 0.2)][:count], best) == (job is not None)
        if job is not None:
            job.events += ["better"] * count
            job.answer = job.answer if best is None else best.content

    @precondition(lambda self: self.claims)
    @rule(at=PICKED, state=st.sampled_from(["succeeded", "cancelled", "failed"]), answer=ANSWERS)
    def finish(self, at: int, state: State, answer: WorkAnswer | None) -> None:
        claim, job = self.draw_claim(at)
        assert self.store.leases.finish(claim, state, answer) == (job is not None)
        if job is not None:
            job.ends(state)
            job.answer = job.answer if answer is None else answer.content

    @precondition(lambda self: self.claims)
    @rule(at=PICKED, best=ANSWERS, counts=st.booleans())
    def release(self, at: int, best: WorkAnswer | None, counts: bool) -> None:
        claim, job = self.draw_claim(at)
        assert self.store.leases.release(claim, "a reason", best, counts=counts) == (job is not None)
        if job is not None:
            job.waits_again()
            job.failures += counts
            job.attempts -= not counts
            job.answer = job.answer if best is None else best.content
            if job.is_cancel_asked:
                job.ends("cancelled")

    @precondition(lambda self: self.jobs_in_state("running"))
    @rule(holder=HOLDERS, is_heard=st.lists(st.booleans(), min_size=MOST, max_size=MOST))
    def renew(self, holder: str, is_heard: list[bool]) -> None:
        running = self.running_jobs(holder)
        heard = {name for name, is_known in zip(sorted(running), is_heard, strict=False) if is_known}
        claims = [claim for claim in self.claims if claim.id in heard]
        assert self.store.leases.renew(holder, claims, 60.0) == {name: running[name].lease for name in heard}
        for name, job in running.items():
            if name in heard:
                job.is_over = False
            else:
                job.waits_again()
                job.attempts -= 1

    @precondition(lambda self: self.kept)
    @rule(at=PICKED)
    def cancel(self, at: int) -> None:
        name = sorted(self.kept)[at % len(self.kept)]
        job = self.kept[name]
        if job.state in OPEN:
            job.is_cancel_asked = True
        if job.state == "queued":
            job.ends("cancelled")
        found = self.store.jobs.ask_to_cancel(name)
        assert found is not None
        assert found.state == job.state

    @precondition(lambda self: self.jobs_in_state(*ENDED))
    @rule(at=PICKED)
    def forget(self, at: int) -> None:
        name = sorted(self.kept)[at % len(self.kept)]
        is_over = self.kept[name].state in ENDED
        assert self.store.jobs.forget(name) == is_over
        if is_over:
            del self.kept[name]
            assert self.store.jobs.find(name) is None
            assert self.store.jobs.request(name) is None

    @precondition(lambda self: self.jobs_in_state("running") or any(job.is_late for job in self.kept.values()))
    @rule()
    def tend(self) -> None:
        late = {name for name, job in self.kept.items() if job.state == "queued" and job.is_late}
        lost = {name for name, job in self.kept.items() if job.state == "running" and job.is_over}
        expired, others = self.store.leases.expire_jobs()
        assert (set(expired), sorted(others)) == (late, sorted(lost))
        for name in late:
            self.kept[name].ends("expired")
        for name in lost:
            job = self.kept[name]
            if job.is_cancel_asked:
                job.ends("cancelled")
                continue
            job.lapses += 1
            if job.lapses > MOST_LAPSES:
                job.ends("failed")
            else:
                job.waits_again()

    @invariant()
    def is_as_the_model_says(self) -> None:
        for name, kept in self.kept.items():
            job = self.store.jobs.find(name)
            assert job is not None
            holder = kept.holder if kept.state == "running" else job.lease_holder
            assert (job.state, job.lease_holder, job.lease) == (kept.state, holder, kept.lease)
            assert (job.attempts, job.lapses, job.failures) == (kept.attempts, kept.lapses, kept.failures)
            assert job.is_cancel_asked == kept.is_cancel_asked
            assert (job.finished_at is not None) == (kept.state in ENDED)
            assert event_kinds(self.store, name) == kept.events
            assert job.last_event == len(kept.events)
            assert self.store.jobs.answer(name) == kept.answer
        assert states(self.store) == Counter(kept.state for kept in self.kept.values())
        for holder in ("here", "there"):
            asked = {name for name, job in self.running_jobs(holder).items() if job.is_cancel_asked}
            assert self.store.leases.cancelled_jobs(holder) == asked


@pytest.mark.drawn
def test_random_sequences_of_store_calls_agree_with_a_simple_model(store: Store) -> None:
    machine = type("MachineOfStore", (Machine,), {"store": store})
    rounds = settings(
        max_examples=6 * DEPTH,
        stateful_step_count=40,
        deadline=None,
        derandomize=DEPTH == 1,
        phases=[Phase.generate],  # shrinking takes minutes and gains little, as sequences are short
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=rounds)
