"""Plans by hash, re-planning with kept offsets, and explanations over HTTP."""

import json
from typing import Any

import pytest

from memplan.api.service.cache.canonical_plan import translate_plan
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.questions.plan.plan import QUESTION, PlanOptions, plan
from tests.support.hard_requests import hard_request
from tests.support.profiled import POOL_OF_Y, PROFILED
from tests.support.server import RunningServer
from tests.support.values import buffer_rows


def problem(scale: int, names: str = "ab") -> dict[str, Any]:
    sizes = (1000 * scale, 3000 * scale)
    return {"buffers": [{"id": names[k], "size": sizes[k], "start": k, "end": k + 2} for k in range(2)]}


def ask_plan(server: RunningServer, content: object, **options: object) -> dict[str, Any]:
    answer = server.client.post("/v1/plan", json={"problem": content, "options": options})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_proved_plan_is_served_by_its_hash_as_immutable(server: RunningServer) -> None:
    its_hash = ask_plan(server, problem(1))["problem_hash"]
    answer = server.client.get(f"/v1/plans/{its_hash}")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    told = Plan.model_validate(answer.json())
    assert (told.status, told.peak, told.problem_hash) == ("optimal", 4, its_hash)
    again = server.client.get(f"/v1/plans/{its_hash}", headers={"if-none-match": f'"other", {answer.headers["etag"]}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", answer.headers["etag"])


def test_a_plan_by_hash_is_the_same_whether_or_not_this_server_proved_it(server: RunningServer) -> None:
    problem_hash = ask_plan(server, problem(11))["problem_hash"]
    url, cache = f"/v1/plans/{problem_hash}", server.service.cache
    proved = server.client.get(url)
    cache._memory[problem_hash] = (cache._memory[problem_hash][0].unclaimed_plan, *cache._memory[problem_hash][1:])
    unproved = server.client.get(url)
    assert [answer.json()["status"] for answer in (proved, unproved)] == ["optimal", "optimal"]
    assert proved.headers["etag"] == unproved.headers["etag"]
    assert server.client.get(url, headers={"if-none-match": proved.headers["etag"]}).status_code == 304


@pytest.mark.parametrize("profile", POOL_OF_Y)
def test_a_profile_may_be_in_the_body_or_in_the_query(profile: str, server: RunningServer) -> None:
    plans = [ask_plan(server, PROFILED, profile=profile)]
    plans.append(server.client.post(f"/v1/plan?profile={profile}", json=PROFILED).json())
    assert [plan["placements"][1]["pool"] for plan in plans] == [POOL_OF_Y[profile]] * 2


def test_a_plan_fetched_by_hash_is_valid_for_an_equivalent_problem(server: RunningServer) -> None:
    problem_hash = ask_plan(server, problem(1))["problem_hash"]
    told = Plan.model_validate(server.client.get(f"/v1/plans/{problem_hash}").json())
    mine = Problem.model_validate(problem(7, "yx"))
    plan = translate_plan(CompiledProblem.from_problem(mine), told)
    assert plan is not None
    assert verify(mine, plan) == ()
    assert plan.peak == 28_000


def test_an_unproved_plan_by_hash_is_served_with_no_cache(server: RunningServer) -> None:
    hard = hard_request(21)["problem"]
    first = ask_plan(server, hard, accept="fit")
    url = f"/v1/plans/{first['problem_hash']}"
    answer = server.client.get(url)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "public, no-cache")
    assert ask_plan(server, hard, time_limit_s=3)["peak"] <= first["peak"]
    changed = server.client.get(url, headers={"if-none-match": answer.headers["etag"]})
    assert changed.status_code == (200 if changed.headers["etag"] != answer.headers["etag"] else 304)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            f"sha256:{64 * 'f'}",
            f"no plan is known for a problem with hash sha256:{64 * 'f'} (POST /v1/plan with the problem makes one)",
        ),
        ("%00", 'must be sha256: and 64 hexadecimal digits, got "\\u0000"'),
    ],
)
def test_a_problem_hash_without_a_stored_plan_gets_404(server: RunningServer, name: str, sentence: str) -> None:
    answer = server.client.get(f"/v1/plans/{name}")
    assert answer.json()["detail"] == f"problem_hash: {sentence}"
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.headers["cache-control"] == "no-store"


def test_an_equivalent_request_gets_the_cached_plan_with_its_own_buffer_names(server: RunningServer) -> None:
    first, again, other = ask_plan(server, problem(2)), ask_plan(server, problem(2)), ask_plan(server, problem(6, "cd"))
    assert again["placements"] == first["placements"]
    assert [row["id"] for row in other["placements"]] == ["c", "d"]
    assert [row["offset"] for row in other["placements"]] == [3 * row["offset"] for row in first["placements"]]
    assert other["proof"]["buffers"] == ["c", "d"]


OLD: dict[str, Any] = {"buffers": buffer_rows(a=(8, 0, 4), b=(4, 1, 3), c=(4, 2, 5))}
NEW: dict[str, Any] = {"buffers": [*OLD["buffers"], {"id": "d", "size": 4, "start": 0, "end": 2}]}


@pytest.fixture(scope="module")
def job(server: RunningServer) -> dict[str, Any]:
    return server.wait_for_end(server.client.post("/v1/jobs", json=OLD).json())


def offsets(content: dict[str, Any]) -> dict[str, int]:
    return {row["id"]: row["offset"] for row in content["placements"]}


def test_re_planning_may_refer_to_a_stored_plan_by_its_hash(server: RunningServer, job: dict[str, Any]) -> None:
    before = server.client.get(job["links"]["plan"]).json()
    keep = {"plan_hash": job["plan_hash"]}
    options = {"time_limit_s": 5, "accept": "5%"}
    answer = server.client.post("/v1/plan", json={"problem": NEW, "keep": keep, "options": options})
    assert answer.status_code == 200, answer.text
    plan = answer.json()
    assert verify(Problem.model_validate(NEW), Plan.model_validate(plan)) == ()
    kept = offsets(plan)
    assert {name: kept[name] for name in "abc"} == offsets(before)
    csv = server.client.post("/v1/plan", json={"problem": NEW, "keep": keep}, headers={"accept": "text/csv"})
    assert csv.text.startswith("id,lower,upper,size,offset\n")


def test_re_planning_keeps_the_offsets_of_the_given_plan(server: RunningServer) -> None:
    old = {"placements": [{"id": "c", "pool": "default", "offset": 8}, {"id": "a", "pool": "default", "offset": 0}]}
    plan = server.client.post("/v1/plan", json={"problem": NEW, "keep": old}).json()
    assert {name: offsets(plan)[name] for name in "ac"} == {"a": 0, "c": 8}
    options = {"solver": "exact", "deterministic": True}
    again = server.client.post("/v1/plan", json={"problem": NEW, "keep": old, "options": options}).json()
    assert (offsets(again)["c"], again["reproducible"]) == (8, True)


def test_a_buffer_may_be_named_like_a_request_field(server: RunningServer) -> None:
    problem = {"buffers": [{"id": "keep", "size": 4, "start": 0, "end": 1}]}
    assert server.client.post("/v1/plan", json=problem).json()["peak"] == 4


ROWS = buffer_rows(a=(64, 0, 3), b=(48, 2, 5), c=(8, 6, 8))
TIGHT: dict[str, Any] = {"name": "tight", "buffers": ROWS, "pools": [{"name": "sram", "size": 100}]}


def test_an_infeasible_plan_response_has_a_link_header_to_its_explanation(server: RunningServer) -> None:
    answer = server.client.post("/v1/plan", json=TIGHT)
    certified = '</v1/certify>; rel="certificate"'
    explained = f'</v1/explain>; rel="explanation", {certified}'
    assert (answer.json()["status"], answer.headers["link"]) == ("infeasible", explained)
    assert server.client.post("/v1/plan", json=TIGHT | {"pools": []}).headers["link"] == certified


def test_an_infeasible_job_sends_its_explanation_as_events(server: RunningServer) -> None:
    submitted = server.client.post("/v1/jobs", json=TIGHT).json()
    links = submitted["links"]
    told = server.client.get(links["events"]).text
    rows = [dict(line.split(": ", 1) for line in block.splitlines()) for block in told.split("\n\n") if "data" in block]
    stages = [json.loads(block["data"])["stage"] for block in rows if block["event"] == "progress"]
    assert stages
    assert set(stages) <= {"infeasible", "witness", "stretch", "core", "irreducible", "enough"}
    job = server.wait_for_end(submitted)
    assert (job["state"], job["plan_status"]) == ("succeeded", "infeasible")
    answer = server.client.get(links["plan"])
    plan = answer.json()
    assert answer.headers["link"] == '</v1/explain>; rel="explanation", </v1/certify>; rel="certificate"'
    assert server.client.get(links["result"]).headers["link"] == answer.headers["link"]
    assert (sorted(plan["explanation"]["buffers"]), plan["explanation"]["irreducible"]) == (["a", "b"], True)


def test_a_deterministic_infeasible_answer_is_identical_in_calls_and_jobs(server: RunningServer) -> None:
    asked = {"problem": TIGHT, "options": {"deterministic": True}}
    answers = [server.client.post("/v1/plan", json=asked).content for _ in range(2)]
    links = server.wait_for_end(server.client.post("/v1/jobs", json=asked).json())["links"]
    here = QUESTION.write(plan(Problem.model_validate(TIGHT), options=PlanOptions(deterministic=True)))
    assert [*answers, server.client.get(links["result"]).content] == [here] * 3


def test_the_best_plan_so_far_answers_if_a_child_is_late(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memplan.api.service.answering._GRACE_S", -2.0)
    buffers = hard_request(31)["problem"]["buffers"]
    hard = {"buffers": buffers, "pools": [{"name": "fast", "size": 2**24}, {"name": "slow", "cost": 2}]}
    plan = ask_plan(server, hard, time_limit_s=5, profile="balanced")
    assert (plan["status"], plan["stop_reason"], plan["profile"]) == ("feasible", "time_limit", "balanced")
