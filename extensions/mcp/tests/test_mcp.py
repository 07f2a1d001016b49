"""Tests of the tools of `memplan mcp`: their list, their calls, and refused calls."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from memplan.planner.errors import InputError
from memplan.questions import QUESTIONS

_EXAMPLES = str(Path(__file__).resolve().parents[3] / "examples")
_MOBILENET = "mobilenet_v2.csv"


@pytest.mark.slow
def test_every_question_is_a_tool_with_a_working_example_and_errors_are_reported() -> None:
    mcp, stdio = pytest.importorskip("mcp"), pytest.importorskip("mcp.client.stdio")

    async def run() -> None:
        command = mcp.StdioServerParameters(
            command=str(Path(sys.executable).with_name("memplan")), args=["mcp", "--folder", _EXAMPLES]
        )
        async with (
            asyncio.timeout(120.0),
            stdio.stdio_client(command) as (reads, writes),
            mcp.ClientSession(reads, writes) as session,
        ):
            await session.initialize()
            tools = (await session.list_tools()).tools
            assert [tool.name for tool in tools] == [*QUESTIONS, "schema"]
            assert sum(len(tool.model_dump_json()) for tool in tools) < 30_000  # Tools are sent in each conversation.
            assert "alias_of" in (await session.call_tool("schema", {"question": "plan"})).content[0].text
            examples = {tool.name: (tool.description or "").partition("Example: ")[2] for tool in tools[:-1]}
            assert [name for name, text in examples.items() if not text] == ["compare", "convert"]  # They need files.
            for name, text in examples.items():
                if text:
                    answer = await session.call_tool(name, json.loads(text))
                    assert not answer.is_error, (name, answer.content)
                    assert answer.structured_content["exit_status"] in QUESTIONS[name].exits
            planned = await session.call_tool("plan", {"problem": _MOBILENET, "options": {"time_limit_s": 5}})
            assert planned.structured_content["peak"] == 1505280
            assert planned.content[0].text.startswith("optimal: peak 1,505,280 bytes")
            for name, given, sentence in (
                ("plna", {}, 'tool: must be a question or schema, got "plna" (did you mean plan?)'),
                ("plan", {"problem": "no.csv"}, f"{_EXAMPLES}/no.csv: no such file"),
                ("plan", {"problem": "/etc/passwd"}, f'"/etc/passwd": must be in {_EXAMPLES}; `memplan mcp --folder`'),
                ("plan", {"problem": "networks"}, '"networks": must be a file'),
                ("plan", {"problem": "a\0b"}, f"{_EXAMPLES}/a\ufffdb: no such file"),
                ("schema", {"question": "plna"}, "question: must be one of plan, "),
                ("plan", {"problm": {}}, "problm: is not a known field (did you mean problem?)"),
                ("plan", {}, "problem: is required"),
                ("plan", {"problem": {"buffers": []}, "options": {"solver": 1}}, "solver: must be a string"),
            ):
                refused = await session.call_tool(name, given)
                assert refused.is_error
                assert refused.content[0].text.startswith(sentence), (refused.content, sentence)

    asyncio.run(run())


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    server = pytest.importorskip("memplan.extensions.mcp.server")
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(InputError, match=f'"large.json": must have at most {2**28} bytes here, got {2**40}'):
        server._path_inside(tmp_path, "large.json")
