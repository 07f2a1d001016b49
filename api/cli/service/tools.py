"""`memplan mcp`: every question as a tool of the Model Context Protocol, for an assistant in an editor."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations
from pydantic_core import from_json, to_json

from memplan.api.cli.solvers.schema import QuietJsonSchema
from memplan.api.request_bodies import lacking
from memplan.capabilities.bodies import read_body_options, request_model
from memplan.capabilities.capability import Capability, Control
from memplan.capabilities.question import Question
from memplan.capabilities.reading import Reader
from memplan.capabilities.registry import CAPABILITIES
from memplan.files import contents, named
from memplan.planner import __version__
from memplan.planner.errors import InputError, MemplanError, OptionError, ReaderFaultError, shown
from memplan.planner.errors.did_you_mean import did_you_mean

_INSTRUCTIONS = "Plans memory: pools and offsets of buffers. An input is JSON, or the path of a local file."
_LATE_S = 0.5
"""The seconds after its time limit for which an answer is waited for; then the last one that was noted is given."""


def mcp() -> None:
    """Answer the questions of an assistant on standard input and output, by the Model Context Protocol.

    Each question is a tool, with the schema of its body; files are named by their paths.
    """
    asyncio.run(_serve())


async def _serve() -> None:
    server: Server[Any] = Server(
        "memplan", version=__version__, instructions=_INSTRUCTIONS, on_list_tools=_listed, on_call_tool=_called
    )
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


async def _listed(_context: Any, _page: Any) -> ListToolsResult:
    return ListToolsResult(tools=[tool_of(capability) for capability in CAPABILITIES.values()])


def tool_of(capability: Capability[Any]) -> Tool:
    """Return the tool that a question is: its sentences with its example, and the schema of its body."""
    schema = request_model(capability).model_json_schema(schema_generator=QuietJsonSchema)
    for each in capability.inputs:
        if each.from_file is not None:
            path = {"type": "string", "description": f"The path of a file. {each.help}"}
            its = schema["properties"][each.name]
            schema["properties"][each.name] = path if each.takes_bytes else {"anyOf": [its, path]}
    exits = "".join(f"\n- {status}: {says}" for status, says in capability.exits.items())
    names, body = {each.name for each in capability.inputs}, capability.example
    body = body if names & body.keys() else {capability.inputs[0].name: body}
    example = "" if any(each.takes_bytes for each in capability.inputs) else to_json(body).decode()
    texts = capability.help, exits and f"`exit_status` of the answer:{exits}", example and f"Example: {example}"
    return Tool(
        name=capability.name,
        title=capability.summary,
        description="\n\n".join(filter(None, texts)),
        input_schema=schema,
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


async def _called(_context: Any, asked: CallToolRequestParams) -> CallToolResult:
    """Answer a question by its tool; what is wrong with it is said in the result, for the assistant to mend."""
    try:
        if (capability := CAPABILITIES.get(asked.name)) is None:
            raise OptionError(f"tool: there is no {shown(asked.name)}{did_you_mean(asked.name, CAPABILITIES)}")
        answer = await _answer(capability, dict(asked.arguments or {}))
    except (MemplanError, ReaderFaultError) as error:
        sentences = error.sentences if isinstance(error, InputError) else (str(error),)
        return CallToolResult(content=[TextContent(text=line) for line in sentences], is_error=True)
    fields = {**from_json(capability.write(answer)), "exit_status": capability.exit_status(answer)}
    return CallToolResult(content=[TextContent(text="\n".join(capability.lines(answer)))], structured_content=fields)


async def _answer(capability: Capability[Any], given: Mapping[str, Any]) -> Any:
    """Return the answer to a question by the time limit, or the last one that was noted; raises MemplanError."""
    options, noted, cancelled = read_body_options(capability, given, {}), list[Any](), threading.Event()
    control = Control(options.due(), cancelled, note=noted.append)
    work = lambda: capability.answered(_question(capability, given), options, control)  # noqa: E731
    working = asyncio.create_task(asyncio.to_thread(work))
    try:
        await asyncio.wait((working,), timeout=None if options.counts_work else options.time_limit_s + _LATE_S)
        return noted[-1] if noted and not working.done() else await working
    finally:
        cancelled.set()


def _question(capability: Capability[Any], given: Mapping[str, Any]) -> Question:
    """Read the inputs: objects of JSON, or files by their paths; raises InputError."""
    names = [each.name for each in capability.inputs]
    if unknown := [name for name in given if name not in (*names, "options")]:
        raise InputError(*(f"{name}: is not a known field{did_you_mean(name, names)}" for name in unknown))
    question, reader = dict[str, Any](), Reader()
    for each in sorted(capability.inputs, key=lambda each: each.reads_last):
        value = given.get(each.name)
        if isinstance(value, str) and each.from_file is not None:
            data, path = contents(value)
            with named(path):
                value = each.from_file(reader, data, value, question)
        elif value is not None:
            value = each.from_json(value)
        elif each.absent is not None and reader.data:
            value = each.absent(reader, question)
        if value is not None:
            question[each.name] = value
    if breaks := lacking(capability, question):
        raise InputError(*breaks)
    return question
