"""`memplan keys`, and the access control of `memplan serve`, as separate processes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from memplan.api.cli.main import main
from memplan.api.http.serving.server import bind_socket, decide_keys
from memplan.api.settings import Settings
from memplan.planner.errors import OptionError

ROOT = Path(__file__).resolve().parents[3]
MEMPLAN = [sys.executable, "-m", "memplan.api.cli.main"]
SECRET = "an-operator-wrote-this-one-by-hand-42"

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _empty_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMPLAN_DATA_FOLDER", str(tmp_path))


def keys(capfd: Captured) -> list[dict[str, object]]:
    capfd.readouterr()
    assert main(["keys", "list"]) == 0
    return list(json.loads(capfd.readouterr().out)["keys"])


def test_a_key_is_shown_once_and_later_only_by_its_name(capfd: Captured) -> None:
    limits = ["--max-jobs", "5", "--max-requests-per-minute", "60", "--max-kept-bytes", "2MiB"]
    assert main(["keys", "add", "farm", *limits]) == 0
    out, err = capfd.readouterr()
    assert out.startswith("memplan_")
    assert out.count("\n") == 1
    assert err == "memplan: key farm may plan, read; it is not shown again\n"
    (found,) = keys(capfd)
    assert str(found.pop("id")) in out
    assert str(found.pop("created_at")).endswith("Z")
    allowed = {"max_jobs": 5, "max_requests_per_minute": 60, "max_kept_bytes": 2 * 2**20}
    assert found == {"name": "farm", "scopes": ["plan", "read"], "used_at": None, "revoked_at": None} | allowed


def test_a_key_has_the_requested_scopes(capfd: Captured) -> None:
    assert main(["keys", "add", "boss", "--scope", "admin", "--scope", "read"]) == 0
    assert [key["scopes"] for key in keys(capfd)] == [["admin", "read"]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["add", "two words"], 'name: must be at most 64 letters, digits and . _ @ -, got "two words"'),
        (["add", "taken"], 'name: must not be in use by a key, revoked or not, got "taken"'),
        (["revoke", "nobody"], 'name: must be the name of an active key (keys list shows them), got "nobody"'),
    ],
)
def test_an_invalid_key_name_is_reported(arguments: list[str], sentence: str, capfd: Captured) -> None:
    main(["keys", "add", "taken"])
    capfd.readouterr()
    assert main(["keys", *arguments]) == 2
    assert capfd.readouterr() == ("", f"memplan: error: {sentence}\n")


def test_keys_list_as_a_table_is_printed_on_standard_error(capfd: Captured) -> None:
    main(["keys", "add", "farm"])
    capfd.readouterr()
    assert main(["keys", "list", "--format", "table"]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("farm")


def test_a_store_that_cannot_open_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MEMPLAN_DATA_FOLDER", str(tmp_path / "file" / "below"))
    assert main(["keys", "list"]) == 2
    assert capfd.readouterr().err.startswith(f"memplan: error: data_folder: cannot create {tmp_path}/file/below: ")


@pytest.mark.parametrize(
    ("host", "settings", "without_keys", "is_required"),
    [
        ("127.0.0.1", {}, False, False),
        ("::1", {}, False, False),
        ("127.0.0.1", {"require_keys": True}, False, True),
        ("0.0.0.0", {}, False, True),
        ("::", {}, False, True),
        ("0.0.0.0", {}, True, False),
        ("0.0.0.0", {"require_keys": False}, False, False),
    ],
)
def test_keys_are_required_by_default_if_other_machines_can_connect(
    host: str, settings: dict[str, bool], without_keys: bool, is_required: bool
) -> None:
    with bind_socket(host, 0) as listener:
        decided = decide_keys(Settings.model_validate(settings), listener, without_keys).require_keys
        assert decided in {True: (True,), False: (False, None)}[is_required]


@pytest.mark.parametrize("settings", [{"require_keys": True}, {"admin_key": SECRET}])
def test_serve_refuses_without_keys_together_with_required_keys(settings: dict[str, bool | str]) -> None:
    (name,) = settings
    with bind_socket("127.0.0.1", 0) as listener, pytest.raises(OptionError) as caught:
        decide_keys(Settings.model_validate(settings), listener, without_keys=True)
    assert str(caught.value) == f"without-keys: must not be given if MEMPLAN_{name.upper()} is set"


def test_a_server_that_others_can_reach_refuses_to_start_without_keys(capfd: Captured) -> None:
    assert main(["serve", "--host", "0.0.0.0", "--port", "0"]) == 2
    assert capfd.readouterr().err.splitlines()[-1] == (
        "memplan: error: keys: must not be empty if other machines can connect: add a key with `memplan keys add NAME`,"
        " set MEMPLAN_ADMIN_KEY, or let in every caller with --without-keys"
    )


@contextmanager
def run_server(*arguments: str, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start a server that listens on all interfaces; yield its port suffix and its process."""
    words = [*MEMPLAN, "serve", "--host", "0.0.0.0", "--port", "0", *arguments]
    env = os.environ | {"MEMPLAN_WORKERS": "0", "MEMPLAN_LOG_FORMAT": "json"} | environment
    process = subprocess.Popen(words, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        told = ""
        while "memplan listens on" not in told:
            told = json.loads(process.stderr.readline())["message"]
        yield told.rpartition("http://0.0.0.0")[2].split()[0], process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_a_server_with_an_admin_key_requires_it_and_shuts_down_cleanly() -> None:
    with run_server(MEMPLAN_ADMIN_KEY=SECRET) as (port, process):
        with httpx.Client(base_url=f"http://127.0.0.1{port}", trust_env=False, timeout=60) as client:
            assert client.get("/v1/solvers").status_code == 401
            assert client.get("/v1/solvers", headers={"Authorization": f"Bearer {SECRET}"}).status_code == 200
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        lines = [json.loads(line) for line in log.splitlines()]
        assert process.returncode == 0
        asked = [(line["route"], line["status"], line["key"]) for line in lines if line["logger"] == "memplan.requests"]
        assert asked == [("/v1/solvers", 401, None), ("/v1/solvers", 200, "admin")]
        assert SECRET not in log


def test_serve_without_keys_accepts_calls_without_a_key() -> None:
    with run_server("--without-keys") as (port, _):
        assert httpx.get(f"http://127.0.0.1{port}/v1/solvers", trust_env=False).status_code == 200
