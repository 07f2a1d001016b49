"""Problems, plans, requests and answers as the store keeps them: their JSON or their bytes, compressed."""

from __future__ import annotations

import zlib
from hashlib import sha256
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import from_json

from memplan.api.store.job import PackedPlan
from memplan.api.workers.task import WorkAnswer
from memplan.capabilities.capability import Capability
from memplan.capabilities.plan.answers import write_plan
from memplan.planner.formats import memplan_json
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

_LEVEL = 1
"""Compression that costs little: most of what can be saved is saved at once."""


def pack_problem(problem: Problem) -> bytes:
    """Write a problem for the store."""
    return zlib.compress(memplan_json.write_problem(problem), _LEVEL)


def unpack_problem(data: bytes) -> Problem:
    """Read a problem from the store."""
    return Problem.model_validate(from_json(zlib.decompress(data)))


def problem_json(data: bytes) -> bytes:
    """Return the JSON of a problem from the store."""
    return zlib.decompress(data)


def pack_plan(plan: Plan) -> PackedPlan:
    """Write a plan for the store, as it is answered."""
    content = write_plan(plan)
    return PackedPlan(zlib.compress(content, _LEVEL), plan.status, _hash(content))


def plan_json(data: bytes) -> bytes:
    """Return the JSON of a plan from the store."""
    return zlib.decompress(data)


def unpack_plan(data: bytes) -> Plan:
    """Read a plan from the store."""
    return Plan.model_validate(from_json(zlib.decompress(data)))


def pack_request(media: str, body: bytes) -> bytes:
    """Write the body of a request, and its media type, for the store."""
    return zlib.compress(media.encode() + b"\n" + body, _LEVEL)


def is_request(data: bytes) -> bool:
    """Return True for a request in the store, and False for a problem alone, of a plan."""
    return zlib.decompressobj().decompress(data, 1) != b"{"


def unpack_request(data: bytes) -> tuple[str, bytes]:
    """Read the media type and the body of a request from the store."""
    media, _, body = zlib.decompress(data).partition(b"\n")
    return media.decode(), body


def pack_answer(answer: WorkAnswer) -> PackedPlan:
    """Write the answer of another kind of job than a plan for the store."""
    plan_hash = _hash(answer.content) if answer.is_plan else None
    return PackedPlan(zlib.compress(answer.content, _LEVEL), answer.status, plan_hash)


def _hash(content: bytes) -> str:
    return f"sha256:{sha256(content).hexdigest()}"


def answer_bytes(data: bytes) -> bytes:
    """Return an answer from the store, as it is sent."""
    return zlib.decompress(data)


def answer_lines(capability: Capability[Any], data: bytes) -> str:
    """Return an answer from the store as the command prints it for people."""
    answer = TypeAdapter(capability.answer).validate_json(answer_bytes(data))
    return "".join(f"{line}\n" for line in capability.lines(answer))
