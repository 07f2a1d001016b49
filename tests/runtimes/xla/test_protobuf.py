"""Tests of the parser of protocol buffers: fields, defaults, and errors for data beyond the end of the file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.errors import FormatError
from memplan.runtimes.protobuf import ProtobufMessage
from tests.runtimes.protobuf_files import field, message, varint

DATA = message({1: 300, 2: "name", 3: [message({1: 1}), message({1: -2})], 4: b"\xff"})


def test_protobuf_fields_are_read_by_their_number() -> None:
    root = ProtobufMessage.root(DATA, "root")
    assert (root.integer(1, "count"), root.text(2, "name"), root.text(4, "odd")) == (300, "name", "\\xff")
    inner = list(root.messages(3, "rows"))
    assert [(row.path, row.integer(1, "value")) for row in inner] == [("root.rows[0]", 1), ("root.rows[1]", -2)]


def test_absent_protobuf_fields_have_their_defaults() -> None:
    root = ProtobufMessage.root(DATA, "root")
    assert (root.integer(9, "count", 5), root.text(9, "name"), root.message(9, "inner")) == (5, "", None)


def test_protobuf_fields_of_four_and_eight_bytes_are_skipped() -> None:
    data = varint(1 << 3 | 5) + b"abcd" + varint(2 << 3 | 1) + b"abcdefgh" + field(3, 7)
    assert ProtobufMessage.root(data, "root").integer(3, "count") == 7


@given(st.integers(-(2**63), 2**63 - 1))
def test_all_64_bit_integers_are_read_from_protobuf(value: int) -> None:
    assert ProtobufMessage.root(field(1, value), "root").integer(1, "count") == value


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            b"\x08" + b"\x80" * 10 + b"\x01",
            "root: must have numbers of at most 10 bytes, got an unfinished one at byte 1",
        ),
        (b"\x08", "root: must have numbers of at most 10 bytes"),
        (b"\x0a\x05ab", r"root: must not extend beyond its last byte \(4\), got a field of 5 bytes from byte 2"),
        (b"\x0b", "root: must be a message, got a field of kind 3 before byte 1"),
        (field(1, "x"), "root.count: must be an integer"),
    ],
)
def test_errors_of_protobuf_state_their_location(data: bytes, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        ProtobufMessage.root(data, "root").integer(1, "count")


def test_reading_a_number_as_a_message_is_refused() -> None:
    with pytest.raises(FormatError, match=r"root\.inner: must be a field with a length, got the integer 3"):
        ProtobufMessage.root(field(1, 3), "root").message(1, "inner")
