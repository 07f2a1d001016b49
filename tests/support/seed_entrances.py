"""Service and command in this process, for the tests of rows of the source documents."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from memplan.api.cli.main import main

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Http:
    """The service as an entrance: `ask` returns an answer, and `post` the whole response, of any status."""

    client: TestClient

    def ask(self, name: str, body: Body | bytes, **query: Any) -> Any:
        response = self.post(name, body, **query)
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, name: str, body: Body | bytes, accept: str = "application/json", **query: Any) -> Any:
        """Return the response to `POST /v1/NAME`; a body of bytes is a file."""
        headers = {"Accept": accept}
        if isinstance(body, bytes):
            headers["Content-Type"] = "application/octet-stream"
            return self.client.post(f"/v1/{name}", params=query, content=body, headers=headers)
        return self.client.post(f"/v1/{name}", params=query, json=body, headers=headers)


@dataclass(frozen=True)
class CommandResult:
    status: int
    out: str
    err: str

    @property
    def answer(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Command:
    """The command as an entrance, in a separate folder, where JSON inputs are first written as files."""

    folder: Path
    captured: Callable[[], tuple[str, str]]

    def __call__(self, *arguments: str | Path) -> CommandResult:
        self.captured()
        status = main([str(argument) for argument in arguments])
        out, err = self.captured()
        return CommandResult(status, out, err)

    def file(self, name: str, content: Body | str | bytes) -> Path:
        path = self.folder / name
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path


def problem_of(*rows: tuple[int, int, int], **more: Any) -> dict[str, Any]:
    """Return a problem from rows (size, start, end), whose buffers are called a, b, c, ..."""
    buffers = [
        {"id": "abcdefghijklmnopqrstuvwxyz"[k], "size": size, "start": start, "end": end}
        for k, (size, start, end) in enumerate(rows)
    ]
    return {"buffers": buffers, **more}


def offsets(answer: Any) -> dict[Any, int]:
    return {row["id"]: row["offset"] for row in answer["placements"]}
