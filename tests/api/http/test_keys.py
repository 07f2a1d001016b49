"""API keys: format, stored fields, delay of revocation, rate limits, and requests of foreign origins."""

import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import anyio
import pytest

from memplan.api.http.auth import KeyGate, is_from_elsewhere, is_harmless, look_up
from memplan.api.http.openapi import PROBLEM_EXAMPLE
from memplan.api.refusals import ForbiddenError, FullError, NoKeyError
from memplan.api.settings import Settings
from memplan.api.store.api_key import Key, digest, is_same, new_secret, split
from memplan.api.store.caller import ANY_CALLER, Caller
from memplan.api.store.store import Store
from tests.support.server import RunningServer, run_server


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class Lobby:
    """A `KeyGate` over a table of keys in memory, with a clock that the test controls."""

    def __init__(self, **settings: Any) -> None:
        self.keys: dict[str, Key] = {}
        self.looks = 0
        self.clock = Clock()
        self.gate = KeyGate(Settings(require_keys=True, **settings), self._look_up, self.clock)

    async def _look_up(self, key_id: str) -> Key | None:
        self.looks += 1
        return self.keys.get(key_id)

    def add(self, **fields: Any) -> str:
        key_id, text, kept = new_secret()
        self.keys[key_id] = Key(key_id, f"key {len(self.keys)}", kept, frozenset({"plan"}), 0.0, **fields)
        return text

    def comes(self, authorization: str | None) -> Caller:
        async def come() -> Caller:
            return await self.gate.caller(authorization)

        return anyio.run(come)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    async def wait() -> Any:
        return await work

    return anyio.run(wait)


def test_a_key_splits_into_id_and_secret_and_its_hash_reveals_neither() -> None:
    key_id, text, kept = new_secret()
    parts = split(text)
    assert parts is not None
    assert parts[0] == key_id
    assert is_same(parts[1], kept)
    assert not is_same(parts[1][:-1], kept)
    assert parts[1] not in kept


@pytest.mark.parametrize("text", ["", "memplan", "memplan__", "memplan_0123456789abcdef_", "other_0123456789abcdef_x"])
def test_malformed_text_is_not_parsed_as_a_key(text: str) -> None:
    assert split(text) is None


def test_a_wrong_key_is_refused_unless_keys_are_explicitly_switched_off() -> None:
    gate = KeyGate(Settings(), Lobby()._look_up)
    assert run(gate.caller(None)) is ANY_CALLER
    with pytest.raises(NoKeyError, match="must be a known key that is not revoked"):
        run(gate.caller("Bearer whatever"))
    assert run(KeyGate(Settings(require_keys=False), Lobby()._look_up).caller("Bearer whatever")) is ANY_CALLER


@pytest.mark.parametrize("shown", [None, "", "Bearer", "Bearer ", "Basic {key}", "{key}", "Bearer {key}0", "Bearer ä"])
def test_a_missing_or_wrong_key_is_refused(shown: str | None) -> None:
    lobby = Lobby()
    key = lobby.add()
    with pytest.raises(NoKeyError):
        lobby.comes(None if shown is None else shown.format(key=key))


def test_an_unknown_id_and_a_wrong_secret_get_the_same_error() -> None:
    lobby = Lobby()
    key = lobby.add()
    said = set()
    for wrong in (key[:-1] + ("0" if key[-1] != "0" else "1"), new_secret()[1], "short"):
        with pytest.raises(NoKeyError) as caught:
            lobby.comes(f"Bearer {wrong}")
        said.add(str(caught.value))
    assert said == {"authorization: must be a known key that is not revoked: `memplan keys add NAME` makes one"}


def test_an_unknown_id_is_looked_up_at_most_once_in_two_seconds() -> None:
    lobby = Lobby()
    key_id, text, kept = new_secret()
    for _ in range(3):
        with pytest.raises(NoKeyError):
            lobby.comes(f"Bearer {text}")
    assert lobby.looks == 1
    lobby.keys[key_id] = Key(key_id, "new", kept, frozenset({"plan"}), 0.0)
    lobby.clock.now_s += 2.1
    lobby.comes(f"Bearer {text}")
    lobby.comes(f"Bearer {text}")
    assert lobby.looks == 2


def test_a_revoked_key_stops_working_within_two_seconds() -> None:
    lobby = Lobby()
    shown = f"Bearer {lobby.add()}"
    lobby.comes(shown)
    ((key_id, key),) = lobby.keys.items()
    lobby.keys[key_id] = Key(**{**vars(key), "revoked_at": 5.0})
    lobby.clock.now_s += 1.9
    lobby.comes(shown)
    assert lobby.looks == 1
    lobby.clock.now_s += 0.2
    with pytest.raises(NoKeyError):
        lobby.comes(shown)


def test_a_key_above_its_rate_limit_is_refused_with_a_retry_time() -> None:
    lobby = Lobby()
    shown = f"Bearer {lobby.add(max_requests_per_minute=2)}"
    lobby.comes(shown)
    lobby.comes(shown)
    with pytest.raises(FullError, match="key 0: must send at most 2 requests a minute") as caught:
        lobby.comes(shown)
    assert caught.value.headers == {"Retry-After": "30"}
    lobby.clock.now_s += 30
    lobby.comes(shown)
    with pytest.raises(FullError):
        lobby.comes(shown)


def test_each_keys_request_quota_accumulates_for_at_most_a_minute() -> None:
    lobby = Lobby()
    shown, other = f"Bearer {lobby.add(max_requests_per_minute=3)}", f"Bearer {lobby.add()}"
    lobby.comes(shown)
    lobby.clock.now_s += 3600
    for _ in range(3):
        lobby.comes(shown)
    with pytest.raises(FullError) as caught:
        lobby.comes(shown)
    assert caught.value.headers == {"Retry-After": "20"}
    lobby.comes(other)


def test_an_admin_key_sees_all_jobs_and_other_keys_only_their_own() -> None:
    mine = Caller("k1", "one", frozenset({"plan", "read"}))
    assert mine.sees("k1")
    assert not mine.sees("k2")
    assert not mine.sees(None)
    assert Caller("k3", "boss", frozenset({"admin"})).sees("k2")
    assert ANY_CALLER.sees(None)


@pytest.mark.parametrize(
    ("host", "harmless"),
    [
        (None, True),
        ("127.0.0.1:8000", True),
        ("[::1]:8000", True),
        ("localhost:8000", True),
        ("memplan.localhost", True),
        ("buildbox", True),
        ("evil.example:8000", False),
        ("127.0.0.1.evil.example", False),
        ("evil.example.", False),
        ("[::1", False),
    ],
)
def test_only_local_host_names_are_accepted_without_keys(host: str | None, harmless: bool) -> None:
    assert is_harmless(host) is harmless


def test_requests_for_an_unlisted_host_are_refused() -> None:
    lobby = Lobby()
    named = Settings(require_keys=False, hosts="memplan.example, Proxy.example")
    assert run(KeyGate(named, lobby._look_up).caller(None, headers={"host": "proxy.example:80"})) is ANY_CALLER
    with pytest.raises(NoKeyError):
        run(KeyGate(Settings(require_keys=True), lobby._look_up).caller(None, headers={"host": "memplan.example"}))
    for settings in (Settings(), named, Settings(require_keys=False)):
        with pytest.raises(ForbiddenError, match=r'^host: must be an address, localhost or .*, got "evil\.example"$'):
            run(KeyGate(settings, lobby._look_up).caller(None, headers={"host": "evil.example"}))


@pytest.fixture
def store(tmp_path: Path) -> Any:
    found = Store.open(None, tmp_path)
    yield found
    found.close()


def test_the_last_use_of_a_key_is_recorded_about_once_a_minute(store: Store) -> None:
    store.keys.add(Key("a", "farm", digest("1"), frozenset(), 0.0))
    assert look_up(store.keys, "b") is None
    look_up(store.keys, "a")
    first = store.keys.find("a")
    look_up(store.keys, "a")
    assert first is not None
    assert first.used_at is not None
    assert store.keys.find("a") == first


CROSS = [
    *({"origin": origin} for origin in ("https://evil.example", "null", "http://localhost:1")),
    *({"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site", "origin": "http://localhost:1"}),
]


@pytest.mark.parametrize("said", CROSS)
@pytest.mark.parametrize("path", ["/v1/plan", "/v1/jobs", "/v1/batch", "/v1/verify"])
def test_a_page_of_another_origin_cannot_post_to_a_server_without_keys(
    server: RunningServer, path: str, said: dict[str, str]
) -> None:
    before = server.client.get("/v1/jobs?limit=1").json()["jobs"]
    answer = server.client.post(path, content=json.dumps(PROBLEM_EXAMPLE), headers=said)
    assert answer.status_code == 403, answer.text
    assert "must identify this server's own pages if no key is required" in answer.json()["detail"]
    assert [job["id"] for job in server.client.get("/v1/jobs?limit=1").json()["jobs"]] == [job["id"] for job in before]


def test_the_servers_own_pages_and_programs_may_post(server: RunningServer) -> None:
    own = {"origin": f"http://127.0.0.1:{server.port}", "sec-fetch-site": "same-origin"}
    for said in (own, {"sec-fetch-site": "none"}, {}):
        assert server.client.post("/v1/plan", json=PROBLEM_EXAMPLE, headers=said).status_code == 200
    assert not is_from_elsewhere("GET", "localhost", "https://evil.example", "cross-site")


def test_a_server_behind_a_proxy_accepts_all_origins_if_keys_are_switched_off() -> None:
    with run_server(Settings(require_keys=False, workers=0)) as server:
        assert server.client.post("/v1/plan", json=PROBLEM_EXAMPLE, headers=CROSS[0]).status_code == 200
