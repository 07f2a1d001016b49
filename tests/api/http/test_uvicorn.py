"""What `api/http/serving/uvicorn.py` assumes of uvicorn, one test each: a new version that breaks one says which."""

from __future__ import annotations

import asyncio
import inspect
import logging
from importlib import metadata
from pathlib import Path
from typing import Any

import h11
import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from memplan.api.http.limits.turns import Turns
from memplan.api.http.serving.server import listening
from memplan.api.http.serving.uvicorn import UvicornServer, protocol
from memplan.api.settings import Settings


class Pipe(asyncio.Transport):
    """A connection that keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.is_aborted, self.is_closed, self.is_read = b"", False, False, True

    def write(self, data: Any) -> None:
        self.written += data

    def abort(self) -> None:
        self.is_aborted = True

    def close(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def is_closing(self) -> bool:
        return self.is_aborted

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


def connected(kind: type[H11Protocol]) -> tuple[Any, Pipe]:
    config = uvicorn.Config(app, http=kind, log_config=None)
    config.load()
    talk, pipe = kind(config, ServerState(), {}), Pipe()
    talk.connection_made(pipe)
    return talk, pipe


def test_the_version_is_one_that_the_cap_allows() -> None:
    assert tuple(map(int, metadata.version("uvicorn").split(".")[:2])) < (0, 55)


def test_a_server_starts_and_shuts_down_by_methods_that_take_its_sockets() -> None:
    for name in ("startup", "shutdown"):
        method = getattr(uvicorn.Server, name)
        assert inspect.iscoroutinefunction(method)
        assert list(inspect.signature(method).parameters) == ["self", "sockets"]


def test_a_server_that_is_told_to_stop_shuts_down() -> None:
    stopped = list[str]()

    async def day() -> None:
        server = UvicornServer(app, Settings(), "info", lambda: stopped.append("stop"))
        server.config.lifespan = "off"
        server.should_exit = True
        await server.serve(sockets=[])

    asyncio.run(day())
    assert stopped == ["stop"]


def test_a_connection_waits_for_a_request_until_its_headers_are_whole() -> None:
    async def day() -> None:
        talk, _ = connected(H11Protocol)
        assert (talk.conn.their_state, talk.cycle, talk.timeout_keep_alive_task) == (h11.IDLE, None, None)
        talk.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n")
        assert talk.conn.their_state is h11.IDLE
        talk.data_received(b"\r\n")
        assert str(talk.conn.their_state) == "DONE"
        assert not talk.cycle.response_complete
        await asyncio.sleep(0.05)
        assert talk.cycle.response_complete
        assert talk.timeout_keep_alive_task is not None
        talk.connection_lost(None)

    asyncio.run(day())


def test_the_time_for_the_headers_ends_the_connection() -> None:
    async def day() -> None:
        talk, pipe = connected(protocol(0.05, 9))
        talk.data_received(b"GET / HTTP/1.1\r\n")
        await asyncio.sleep(0.15)
        assert pipe.is_aborted
        talk.connection_lost(None)

    asyncio.run(day())


def test_where_there_are_too_many_connections_the_silent_give_way() -> None:
    async def day() -> list[bool]:
        kind, state = protocol(60.0, 3), ServerState()
        config = uvicorn.Config(app, http=kind, log_config=None)
        config.load()
        talks: list[Any] = [kind(config, state, {}) for _ in range(6)]
        pipes = [Pipe() for _ in talks]
        for k, (talk, pipe) in enumerate(zip(talks, pipes, strict=True)):
            talk.connection_made(pipe)
            if k != 1:
                talk.data_received(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n")
        found = [pipe.is_aborted for pipe in pipes]
        for talk in talks:
            talk.connection_lost(None)
        assert not state.connections
        return found

    # The second is silent; then all are at work, and what comes finds no room.
    assert asyncio.run(day()) == [False, True, False, False, True, True]


def test_a_connection_whose_request_was_answered_is_not_ended() -> None:
    async def day() -> None:
        talk, pipe = connected(protocol(0.05, 9))
        talk.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        await asyncio.sleep(0.15)
        assert pipe.written.startswith(b"HTTP/1.1 204")
        assert not pipe.is_aborted
        talk.connection_lost(None)

    asyncio.run(day())


def test_what_comes_behind_a_request_at_work_is_read_up_to_a_limit() -> None:
    # Where nothing is read, nobody notices that a client hangs up.
    request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"

    async def day() -> list[bool]:
        plain, pipe = connected(H11Protocol)
        plain.data_received(request + request)
        ours, other = connected(protocol(60.0, 9))
        ours.data_received(request + request)
        found = [pipe.is_read, other.is_read]
        ours.data_received(b"x" * 2**16)
        found.append(other.is_read)
        for talk in (plain, ours):
            talk.connection_lost(None)
        await asyncio.sleep(0)
        return found

    assert asyncio.run(day()) == [False, True, False]


@pytest.mark.parametrize("answers_first", [False, True])
def test_a_body_that_breaks_the_protocol_is_no_failure(
    answers_first: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A server that ran in this process may have set up uvicorn's logging for itself.
    monkeypatch.setattr(logging.getLogger("uvicorn.error"), "handlers", [caplog.handler])
    monkeypatch.setattr(logging.getLogger("uvicorn.error"), "propagate", False)
    monkeypatch.setattr(logging.getLogger("uvicorn.error"), "level", logging.INFO)
    monkeypatch.setattr(logging.getLogger("uvicorn.error"), "disabled", False)

    async def day() -> bytes:
        talk, pipe = connected(protocol(60.0, 9))
        talk.data_received(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        while answers_first and not talk.cycle.response_complete:
            await asyncio.sleep(0)
        talk.data_received(b"rubbish\r\n")
        for _ in range(9):
            await asyncio.sleep(0)
        assert pipe.is_closed
        talk.connection_lost(None)
        return pipe.written[:12]

    assert asyncio.run(day()) == (b"HTTP/1.1 204" if answers_first else b"HTTP/1.1 400")
    warned = [row.getMessage() for row in caplog.records if row.levelname != "INFO"]
    assert warned == ["Invalid HTTP request received."]


def test_a_server_with_turns_accepts_by_itself(tmp_path: Path) -> None:
    async def day() -> bytes:
        server = UvicornServer(app, Settings(), "info", lambda: None, turns=Turns(tmp_path / "connections", 0, 1))
        server.config.lifespan = "off"
        with listening("127.0.0.1", 0) as listener:
            where = listener.getsockname()[:2]
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            try:
                reader, writer = await asyncio.open_connection(*where)
                writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                answer = await reader.read()
                writer.close()
            finally:
                server.should_exit = True
                await serving
        return answer

    assert asyncio.run(day()).startswith(b"HTTP/1.1 204")
