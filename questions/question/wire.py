"""Questions as JSON objects, with a field for each input and the field `options`."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import to_json

from memplan.planner.errors import FormatError, OptionError, excerpt, sentences_of_options
from memplan.planner.errors.did_you_mean import object_way
from memplan.planner.formats import memplan_json
from memplan.questions.inputs import require_object
from memplan.questions.inputs.values import InputValues, read_inputs
from memplan.questions.question import Question, QuestionOptions


def read_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a request body; raises InputError if the body is anything else."""
    try:
        content = memplan_json.parse(body)
    except FormatError as error:
        raise error.prefix_place("body: ") from error
    return require_object(content, "body")


def read_question(question: Question[Any], content: Mapping[str, Any]) -> InputValues:
    """Return a question's inputs by name, read from the fields of a request body; raises InputError."""
    return read_inputs(question.inputs, content, lambda each, value, *_: each.from_json(value))


def read_body_options(question: Question[Any], content: Mapping[str, Any], query: Mapping[str, str]) -> QuestionOptions:
    """Return a question's options, read from a request's body (`content`) or query; raises OptionError."""
    if query and "options" in content:
        raise OptionError("options: must be in the body or in the query, got both")
    options = content.get("options", {})
    if not isinstance(options, dict):
        raise OptionError(f"options: must be an object, got {excerpt(options)}", way=object_way("options"))
    model: type[QuestionOptions] = question.options
    try:
        return model.model_validate_strings(dict(query)) if query else model.model_validate(options)
    except ValidationError as error:
        raise OptionError(*sentences_of_options(error, model.model_fields)) from error


def write_body(question: Question[Any], values: InputValues, options: QuestionOptions) -> bytes:
    """Return the JSON body of a request to a service, from a question's inputs and options."""
    inputs = {each.name: each.to_json(values[each.name]) for each in question.inputs if each.name in values}
    return to_json(inputs | {"options": options.model_dump(mode="json", exclude_defaults=True)})


def options_field(model: type[QuestionOptions], default: QuestionOptions) -> tuple[type[QuestionOptions], Any]:
    """Return the type of the field `options`, with its default and its description."""
    return model, Field(default, description="The options, which the query may give instead.")


@cache
def request_model(question: Question[Any]) -> type[BaseModel]:
    """Return the pydantic model that describes a question's request bodies."""
    fields: dict[str, Any] = {
        each.name: (
            each.wire if each.required else each.wire | None,
            Field(... if each.required else None, description=each.about or each.help),
        )
        for each in question.inputs
    }
    name = "".join(word.capitalize() for word in question.name.split("-")) + "Request"
    lazy = ConfigDict(defer_build=True)  # Building a model is slow, and only the service's schema needs it.
    return create_model(name, __config__=lazy, **fields, options=options_field(question.options, question.options()))
