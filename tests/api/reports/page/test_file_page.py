"""The file page: what is in it, and what its policy allows."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib

from memplan import Buffer, Pool, Problem, solve
from memplan.api.reports.page.file_page import plan_page

PROBLEM = Problem(
    buffers=[
        Buffer(id="</script><b>bold", size=64, start=-5, end=3),
        Buffer(id="view", size=8, start=0, end=2, alias_of="</script><b>bold", alias_offset=8),
        Buffer(id="holes", size=1 << 60, lifetimes=((0, 1), (2, 4))),
        Buffer(id="timeless", size=16),
    ],
    pools=[Pool(name="<sram>", size=1 << 62, reserved=((0, 64),), bank_size=32)],
)


def page() -> str:
    return plan_page(PROBLEM, solve(PROBLEM), title="</title><script>").decode()


def between(text: str, opening: str, end: str) -> str:
    return text.partition(opening)[2].partition(end)[0]


def script(text: str) -> str:
    """Return what the page runs, which lies packed in it."""
    return packed(text)[1]


def packed(text: str) -> list[str]:
    """Return the styles of a page and its script."""
    return zlib.decompress(base64.b64decode(between(text, 'id="script">', "</script>"))).decode().split("\0")


def source(text: str) -> str:
    """Return how a policy names a script or a style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_policy_names_the_script_and_the_style_that_are_there() -> None:
    text = page()
    found = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert found is not None
    loader, (style, own) = between(text, '<script type="module">', "</script>"), packed(text)
    assert f"script-src {source(loader)} {source(own)}; style-src {source(style)};" in found[1]
    assert found[1].startswith("default-src 'none'; ")


def test_names_do_not_become_markup() -> None:
    text = page()
    assert "<b>bold" not in text
    assert "<title>&lt;/title&gt;&lt;script&gt;</title>" in text


def test_a_page_names_no_address_of_any_network() -> None:
    text = page()
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", text + script(text)))
    assert {address for address in addresses if "://www.w3.org/" not in address} == set()


def test_a_page_holds_what_it_shows_as_json() -> None:
    document = json.loads(zlib.decompress(base64.b64decode(between(page(), 'id="document">', "</script>"))))
    (view,) = document["views"]
    assert [document["title"], view["kind"]] == ["</title><script>", "plan"]
    assert Problem.model_validate(view["problem"]) == PROBLEM
    assert [view["inspection"]["valid"], len(view["plan"]["placements"])] == [True, 4]
