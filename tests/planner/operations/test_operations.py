"""Operations as files spell them: what they mean, and what is said of wrong ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from memplan.planner.errors import OperationsError
from memplan.planner.operations.operations import DeclaredBuffer, operations_from

A = {"id": "a", "size": 8}
B = {"id": "b", "size": 8}


def program(body: list[Any], *buffers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"functions": {"main": {"buffers": list(buffers), "body": body, **fields}}}


def with_callee(call: dict[str, Any], *buffers: dict[str, Any], **callee: Any) -> dict[str, Any]:
    made = program([call], *buffers)
    made["functions"]["f"] = callee
    return made


P = {"id": "p", "size": 8}

BROKEN: list[tuple[str, Any, str]] = [
    ("no entry", {"functions": {}}, 'entry: must name a function, got "main"'),
    (
        "a statement of no kind",
        program([{"opp": "relu"}]),
        "functions.main.body[0]: must be an object with one of op, call, branches, loop, alloc and free, "
        'got {"opp": "relu"}',
    ),
    (
        "a buffer that is not declared",
        program([{"op": "relu", "inputs": ["a", "c"]}], A),
        'functions.main.body[0].inputs[1]: must be the id of a buffer of the function, got "c"',
    ),
    (
        "a type that nobody knows",
        program([], {"id": "a", "dtype": "quux8", "shape": [1]}),
        'functions.main.buffers[0].dtype: must be a type such as int8, float32, int4 or float32x4, got "quux8"',
    ),
    (
        "more bytes than there are",
        program([], {"id": "a", "dtype": "int8", "shape": [2**40, 2**40]}),
        "functions.main.buffers[0].shape: must take at most 4611686018427387904 bytes, got 1208925819614629174706176",
    ),
    (
        "a view of a view",
        program([], A, {**B, "alias_of": "a"}, {"id": "c", "size": 1, "alias_of": "b"}),
        'functions.main.buffers[2].alias_of: must name a buffer that is no alias, got "b"',
    ),
    (
        "a constant that is written",
        program([{"op": "relu", "outputs": ["a"]}], A, constants=["a"]),
        'functions.main.body[0].outputs[0]: must not be a constant, got "a"',
    ),
    (
        "an alloc of a param",
        program([{"alloc": ["a"]}], A, params=["a"]),
        'functions.main.body[0].alloc[0]: must be the function\'s own: no param, result, constant or alias, got "a"',
    ),
    ("an unknown function", program([{"call": "f"}]), 'functions.main.body[0].call: must name a function, got "f"'),
    (
        "an argument that is too small",
        with_callee({"call": "f", "outputs": ["a"]}, {"id": "a", "size": 7}, results=["p"], buffers=[P]),
        'functions.main.body[0].outputs[0]: must have the bytes that "f" wants for "p" (8), got 7',
    ),
    (
        "a param that is returned elsewhere",
        with_callee({"call": "f", "inputs": ["a"], "outputs": ["b"]}, A, B, params=["p"], results=["p"], buffers=[P]),
        'functions.main.body[0].outputs[0]: must be "a", as "f" returns that param, got "b"',
    ),
    (
        "a call that leads back",
        with_callee({"call": "f"}, body=[{"loop": [{"call": "main"}]}]),
        "functions.f.body[0].loop[0].call: must not lead back to itself, got main -> f -> main",
    ),
]


@pytest.mark.parametrize(("value", "sentence"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_wrong_operations_are_told_where_and_what(value: Any, sentence: str) -> None:
    with pytest.raises(OperationsError) as caught:
        operations_from(value)
    assert caught.value.sentences[0].startswith(sentence)


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [
        ("int8", [3, 5], 15),
        ("float32", [2, 3], 24),
        ("bfloat16", [7], 14),
        ("float8_e4m3fn", [7], 7),
        ("complex64", [2], 16),
        ("int4", [5], 3),
        ("uint2", [5], 2),
        ("bool", [5], 5),
        ("float32x4", [3], 48),
        ("int8", [], 1),
        ("int64", [0, 9], 0),
    ],
)
def test_types_and_shapes_are_bytes(dtype: str, shape: list[int], size: int) -> None:
    assert DeclaredBuffer.model_validate({"id": "a", "dtype": dtype, "shape": shape}).bytes == size


def test_the_operations_in_the_document_are_what_they_should_be() -> None:
    text = (Path(__file__).parents[3] / "docs" / "liveness.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```json\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert set(operations_from(json.loads(block)).functions) == {"main", "convolve"}
