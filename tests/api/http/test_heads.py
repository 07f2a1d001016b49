"""Request lines and headers that are made to cost much, or to come from pages of others."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from memplan.api.http.auth.hosts import is_from_elsewhere
from memplan.api.http.limits.heads import LargeHeadersError, LongTargetError, check_head, split_media
from memplan.api.http.openapi.schemas import PROBLEM_EXAMPLE
from memplan.api.settings import Settings
from tests.support.server import Running, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as found:
        yield found


def test_a_query_of_many_names_is_refused_before_it_is_read(server: Running) -> None:
    answer = server.client.get("/v1/jobs?" + "&".join(f"{k}" for k in range(501)))
    assert (answer.status_code, answer.json()["title"]) == (414, "URI Too Long")
    assert answer.json()["detail"] == "query: must have at most 500 fields, got 501"
    assert answer.headers["x-request-id"]


def test_a_path_is_as_long_as_a_call_may_need(server: Running) -> None:
    answer = server.client.get("/v1/jobs?name=" + "a" * 20_000)
    assert answer.json()["detail"] == "target: path and query must have at most 16384 bytes, got 20013"


def test_a_header_is_as_long_as_a_call_may_need(server: Running) -> None:
    said = 'application/json;a="' + ";" * 60_000
    answer = server.client.post("/v1/plan", content=b"{}", headers={"content-type": said})
    assert answer.status_code == 431
    assert answer.json()["detail"] == "header content-type: must have at most 8192 bytes with its name, got 60032"


def test_headers_are_as_many_as_a_call_may_need(server: Running) -> None:
    answer = server.client.get("/healthz", headers={f"x-{k}": "1" for k in range(150)})
    assert answer.status_code == 431
    assert answer.json()["detail"].startswith("headers: must be at most 100, got 15")


def test_a_name_of_a_header_comes_back_in_plain_ascii() -> None:
    scope = {"query_string": b"", "path": "/", "headers": [(b"\xff" * 50, b"a" * 9000)]}
    with pytest.raises(LargeHeadersError, match=r"^header (\\xff){40}: must have"):
        check_head(scope)
    with pytest.raises(LongTargetError, match="got 501"):
        check_head(scope | {"headers": [], "query_string": b"&" * 500})


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (b"text/csv", ("text/csv", {})),
        (b"Text/CSV ; CharSet = x", None),
        (b"Text/CSV ; CharSet=UTF-8;", ("text/csv", {"charset": "UTF-8"})),
        (b'application/json;a="b;\\"c";;charset="utf-8"', ("application/json", {"a": 'b;"c', "charset": "utf-8"})),
        (b"application/json;charset*=%00''x", ("application/json", {"charset*": "%00''x"})),
        (b"application/json;charset=a;charset=b", None),
        (b'application/json;a="' + b";" * 8000, None),
        (b"application/json" + b"; \t" * 2500, ("application/json", {})),
        (b"application", None),
        (b"", None),
        (b"a/b c", None),
        (b"a/\xff", None),
    ],
)
def test_media_types_are_read_as_the_rfc_has_them(said: bytes, read: tuple[str, dict[str, str]] | None) -> None:
    assert split_media(said) == read


@pytest.mark.parametrize("said", ["application/json; charset*=%00''x", "application/json; charset*0=x; charset*1=y"])
def test_odd_parameters_are_no_failure(server: Running, said: str) -> None:
    answer = server.client.post("/v1/plan", content=json.dumps(PROBLEM_EXAMPLE), headers={"content-type": said})
    assert answer.status_code == 200


CROSS = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://localhost:1"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site", "origin": "http://localhost:1"},
]


@pytest.mark.parametrize("said", CROSS)
@pytest.mark.parametrize("path", ["/v1/plan", "/v1/jobs", "/v1/batch", "/v1/verify"])
def test_a_page_from_elsewhere_posts_nothing_to_a_server_without_keys(
    server: Running, path: str, said: dict[str, str]
) -> None:
    answer = server.client.post(path, content=json.dumps(PROBLEM_EXAMPLE), headers=said)
    assert answer.status_code == 403, answer.text
    assert "must be that of this server's own pages where no key is asked for" in answer.json()["detail"]
    assert server.client.get("/v1/jobs").json()["jobs"] == []


def test_the_servers_own_pages_and_programs_may_post(server: Running) -> None:
    own = {"origin": f"http://127.0.0.1:{server.port}", "sec-fetch-site": "same-origin"}
    for said in (own, {"sec-fetch-site": "none"}, {}):
        assert server.client.post("/v1/plan", json=PROBLEM_EXAMPLE, headers=said).status_code == 200
    assert not is_from_elsewhere("GET", "localhost", "https://evil.example", "cross-site")


def test_a_server_behind_a_proxy_may_be_told_to_take_all_origins() -> None:
    with running(Settings(without_keys=True, workers=0)) as server:
        answer = server.client.post("/v1/plan", json=PROBLEM_EXAMPLE, headers=CROSS[0])
        assert answer.status_code == 200
