"""The command `memplan mcp`: offers every question to assistants in editors as a Model Context Protocol tool."""

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from mcp.server import lowlevel, stdio
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations
from pydantic_core import from_json, to_json

from memplan.api.cli.flags import Flag
from memplan.api.cli.help import SectionedCommand
from memplan.api.cli.solvers.schema import QuietJsonSchema
from memplan.api.request_bodies import missing_inputs
from memplan.files import prefix_file_name, read_source
from memplan.planner import __version__
from memplan.planner.errors import InputError, MemplanError, OptionError, ReaderFaultError, excerpt
from memplan.planner.errors.did_you_mean import did_you_mean
from memplan.questions import QUESTIONS
from memplan.questions.inputs.values import Input, InputValues, read_inputs
from memplan.questions.question import Control, Question
from memplan.questions.question.wire import read_body_options, request_model

_INSTRUCTIONS = (
    "Plans memory: pools and offsets of buffers. An input is JSON, or the path of a local file. "
    "The tool `schema` gives the whole schema of a question's body."
)
_SCHEMA = "schema"
_MOST_BYTES = 2**28
"""The maximum size, in bytes, of a file that a tool reads."""
_LATE_S = 0.5
"""The seconds after the time limit at which a tool returns the last interim answer instead of a final one."""


@click.command(
    cls=SectionedCommand,
    params=[
        Flag(
            "folder",
            type=click.Path(path_type=Path),
            default=Path(),
            help="Read files of this folder and of the folders below it, and no others.",
        )
    ],
)
def mcp(folder: Path) -> None:
    """Serve an assistant on standard input and output, by the Model Context Protocol.

    Each question is a tool, and one more tool returns the schemas of their bodies. Files are named by their paths.
    """
    if not folder.is_dir():
        raise OptionError(f"folder: must be a folder, got {excerpt(str(folder))} in {Path.cwd()}")
    asyncio.run(_serve(folder.resolve()))


async def _serve(folder: Path) -> None:
    """Answer the requests on standard input until it ends; files are read only inside `folder`."""
    server: lowlevel.Server[Any] = lowlevel.Server(
        "memplan",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=lambda context, asked: _call_tool(folder, context, asked),
    )
    async with stdio.stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


async def _list_tools(_context: Any, _page: Any) -> ListToolsResult:
    schema = Tool(
        name=_SCHEMA,
        description="The JSON Schema of the body of a question, with all that its inputs and options may have.",
        input_schema={"type": "object", "properties": {"question": {"enum": list(QUESTIONS)}}},
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )
    return ListToolsResult(tools=[*map(tool_of, QUESTIONS.values()), schema])


def schema_of(question: Question[Any]) -> dict[str, Any]:
    """Return the JSON schema of a question's body, in which an input may also be the path of a file."""
    schema = request_model(question).model_json_schema(schema_generator=QuietJsonSchema)
    for each in question.inputs:
        if each.from_file is not None:
            path = {"type": "string", "description": f"The path of a file. {each.help}"}
            its = schema["properties"][each.name]
            schema["properties"][each.name] = path if each.takes_bytes else {"anyOf": [its, path]}
    return schema


def tool_of(question: Question[Any]) -> Tool:
    """Return the tool for a question: a description with the help, an example, and the names of inputs and options.

    Every conversation contains all tools, so their descriptions are short and omit the schemas.
    """
    inputs: dict[str, Any] = {}
    for each in question.inputs:
        kinds = ["string"] if each.takes_bytes else ["object", "array", "string", "number"]
        inputs[each.name] = {"type": kinds, "description": each.help}
    its_options = ", ".join(question.options.model_fields)
    inputs["options"] = {"type": "object", "description": f"{its_options}: see the tool {_SCHEMA}."}
    exits = "".join(f"\n- {status}: {says}" for status, says in question.exits.items())
    names, body = {each.name for each in question.inputs}, question.example
    body = body if names & body.keys() else {question.inputs[0].name: body}
    example = "" if any(each.takes_bytes for each in question.inputs) else to_json(body).decode()
    texts = question.help, exits and f"`exit_status` of the answer:{exits}", example and f"Example: {example}"
    return Tool(
        name=question.name,
        title=question.summary,
        description="\n\n".join(filter(None, texts)),
        input_schema={"type": "object", "properties": inputs},
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


async def _call_tool(folder: Path, _context: Any, asked: CallToolRequestParams) -> CallToolResult:
    """Answer a question, and return its tool's result. An error is also a result, so that the assistant sees it."""
    try:
        if asked.name == _SCHEMA:
            name = (asked.arguments or {}).get("question")
            if not isinstance(name, str) or name not in QUESTIONS:
                raise OptionError(f"question: must be one of {', '.join(QUESTIONS)}, got {excerpt(name)}")
            schema = schema_of(QUESTIONS[name])
            return CallToolResult(content=[TextContent(text=to_json(schema).decode())], structured_content=schema)
        if (question := QUESTIONS.get(asked.name)) is None:
            hint = did_you_mean(asked.name, QUESTIONS)
            raise OptionError(f"tool: must be a question or {_SCHEMA}, got {excerpt(asked.name)}{hint}")
        answer = await _answer(question, dict(asked.arguments or {}), folder)
    except (MemplanError, ReaderFaultError) as error:
        sentences = error.sentences if isinstance(error, InputError) else (str(error),)
        return CallToolResult(content=[TextContent(text=line) for line in sentences], is_error=True)
    fields = {**from_json(question.write(answer)), "exit_status": question.exit_status(answer)}
    return CallToolResult(content=[TextContent(text="\n".join(question.lines(answer)))], structured_content=fields)


async def _answer(question: Question[Any], given: Mapping[str, Any], folder: Path) -> Any:
    """Return the answer to a question, or its last interim answer if the time limit is over. Raises MemplanError."""
    options, noted, cancelled = read_body_options(question, given, {}), list[Any](), threading.Event()
    control = Control(options.deadline(), cancelled, note=noted.append)
    work = lambda: question.answer_verified(_read_inputs(question, given, folder), options, control)  # noqa: E731
    working = asyncio.create_task(asyncio.to_thread(work))
    try:
        await asyncio.wait((working,), timeout=None if options.counts_work else options.time_limit_s + _LATE_S)
        return noted[-1] if noted and not working.done() else await working
    finally:
        cancelled.set()


def _read_inputs(question: Question[Any], given: Mapping[str, Any], folder: Path) -> InputValues:
    """Return the inputs of a question, which are given as JSON objects or as paths of files. Raises InputError."""
    names = [each.name for each in question.inputs]
    if unknown := [name for name in given if name not in (*names, "options")]:
        raise InputError(*(f"{name}: is not a known field{did_you_mean(name, names)}" for name in unknown))

    def read(each: Input[Any], value: Any, values: InputValues, reader: Any) -> Any:
        if not isinstance(value, str) or each.from_file is None:
            return each.from_json(value)
        data, path = read_source(value if value.lstrip()[:1] == "{" else _path_inside(folder, value))
        with prefix_file_name(path):
            return each.from_file(reader, data, value, values)

    values = read_inputs(question.inputs, given, read)
    if breaks := missing_inputs(question, values):
        raise InputError(*breaks)
    return values


def _path_inside(folder: Path, name: str) -> str:
    """Return the full path of the file `name`; raises InputError unless it is a small enough file in `folder`."""
    path = (folder / name.replace("\0", "\N{REPLACEMENT CHARACTER}")).resolve()
    if not path.is_relative_to(folder):
        raise InputError(f"{excerpt(name)}: must be in {folder}; `memplan mcp --folder` sets another folder")
    if path.exists() and not path.is_file():
        raise InputError(f"{excerpt(name)}: must be a file")
    if path.exists() and (count := path.stat().st_size) > _MOST_BYTES:
        raise InputError(f"{excerpt(name)}: must have at most {_MOST_BYTES} bytes here, got {count}")
    return str(path)
