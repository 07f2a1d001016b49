"""Sentences that name options as requests have them."""

from __future__ import annotations

import pytest

from memplan.capabilities.flag_names import in_fields


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("give its shape, as in --dim n=1", "give its shape, as in dims=n=1"),
        ("as in --pool sram=128KiB@0x20000000, got none", "as in capacity=sram=128KiB@0x20000000, got none"),
        ("--to triples and --to mlf leave that", "to=triples and to=mlf leave that"),
        ("--symbol=n=1..1024 or a longer --time-limit 3", "symbol=n=1..1024 or a longer time_limit_s=3"),
        ("try `memplan plan FILE --dim n=1`", "try `memplan plan FILE --dim n=1`"),
        ("iree-compile --mlir-print-ir-after=layout", "iree-compile --mlir-print-ir-after=layout"),
        (
            "where no key is asked for, unless --without-keys is said",
            "where no key is asked for, unless --without-keys is said",
        ),
        ("or --together with the names of those", "or --together with the names of those"),
    ],
)
def test_flags_are_named_as_options_of_requests_and_all_else_stays(sentence: str, said: str) -> None:
    assert in_fields(sentence) == said
