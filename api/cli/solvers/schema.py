"""`memplan schema`: the JSON Schema of the wire format, and example requests that test other implementations."""

from pathlib import Path

import click
from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from pydantic_core import from_json, to_json

from memplan.api.cli.flags import Flag
from memplan.api.cli.help import SectionedCommand
from memplan.api.cli.streams import write_output
from memplan.planner import __version__
from memplan.planner.extensions import extensions
from memplan.questions import QUESTIONS
from memplan.questions.inputs import PLAN, PROBLEM
from memplan.questions.question import Control
from memplan.questions.question.wire import read_body_options, read_question

_MODELS = tuple(
    each.wire for each in (PROBLEM, PLAN, extensions("inputs")["operations"], extensions("inputs")["graph"])
)


class QuietJsonSchema(GenerateJsonSchema):
    """A generator of JSON Schemas that silently omits defaults without a JSON form."""

    ignored_warning_kinds = GenerateJsonSchema.ignored_warning_kinds | {"non-serializable-default"}


@click.command(
    cls=SectionedCommand,
    params=[
        Flag("output", "--output", "-o", metavar="FILE", help="Write the schema to this file."),
        Flag("corpus", metavar="FOLDER", help="Write an example of a body and its answer for each question."),
    ],
)
def schema(output: str | None, corpus: str | None) -> None:
    """Write the JSON Schema of problems, plans, operations and graphs, with the version of memplan.

    The corpus has a file for each question, with a request's body and its answer. Exit status: 0 written, 2 wrong
    input.
    """
    _, schemas = models_json_schema([(model, "validation") for model in _MODELS], schema_generator=QuietJsonSchema)
    dialect = "https://json-schema.org/draft/2020-12/schema"
    write_output(
        output, to_json({"$schema": dialect, "title": "memplan", "version": __version__, **schemas}, indent=1) + b"\n"
    )
    for question in QUESTIONS.values() if corpus is not None else ():
        body = dict(question.example)
        if set(body).isdisjoint({each.name for each in question.inputs}):
            body = {question.inputs[0].name: body}
        options = read_body_options(question, body, {})
        answer = question.answer_verified(read_question(question, body), options, Control())
        path = Path(str(corpus)) / f"{question.name}.json"
        case = {"path": question.path, "body": body, "answer": from_json(question.write(answer))}
        write_output(str(path), to_json(case, indent=1) + b"\n")
