"""The parts of `/openapi.json` that the types of the routes do not determine, such as bodies that may be files."""

from pathlib import Path
from typing import Any, Literal

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from fastapi.utils import deep_dict_update
from pydantic import BaseModel, create_model
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from memplan.api.http.answers import FAIL, FAIL_HELP
from memplan.api.http.job_models import JobChange, Terms
from memplan.api.http.problem_details import MEDIA_TYPE, ProblemDetails, error_answers
from memplan.api.reports.plan_formats import PLAN_FORMATS
from memplan.api.request_bodies import BYTES, FORM, JSON, PLAN, TABLES, TEXT, body_shape
from memplan.api.requests import takes_list
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions import QUESTIONS
from memplan.questions.question import Question
from memplan.questions.question.selection import FIELDS, HELP
from memplan.questions.question.wire import options_field, request_model

NDJSON = "application/x-ndjson"
_REF = "#/components/schemas/{model}"
_FRAMEWORK_ERRORS = "HTTPValidationError", "ValidationError"
PROBLEM_EXAMPLE: dict[str, Any] = QUESTIONS[PLAN].example["problem"]
_PLAN_EXAMPLE = {"status": "optimal", "peak": 602112, "placements": [{"id": "conv1", "pool": "default", "offset": 0}]}


def _body_model(question: Question[Any]) -> type[BaseModel]:
    model, shape = request_model(question), body_shape(question.name)
    if shape.options is question.options:
        return model
    options: Any = options_field(shape.options, shape.unsaid)
    return create_model(model.__name__, __base__=model, options=options)


def _schema_reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}


def _parameter_description(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    # A query string cannot contain nulls, so leave them out of the description.
    sayable = {key: value for key, value in schema.items() if value is not None}
    return {"name": name, "in": "query", "required": False, "description": description, "schema": sayable}


def _model_parameters(model: type[BaseModel], description: str = "") -> list[dict[str, Any]]:
    return [
        _parameter_description(
            name,
            schema.pop("description", "") or description,
            schema if takes_list(model, name) else _query_schema(schema),
        )
        for name, schema in model.model_json_schema()["properties"].items()
    ]


def _query_schema(schema: dict[str, Any]) -> dict[str, Any]:
    forms = schema.get("anyOf", [schema])
    scalars = [form for form in forms if form.get("type") not in ("array", "object")]
    return schema if len(scalars) == len(forms) else {"anyOf": [*scalars, {"type": "string"}], "title": schema["title"]}


def describe_selection(extra: dict[str, Any]) -> dict[str, Any]:
    """Return a call's OpenAPI description with two more query parameters: the wanted fields, and the failure status."""
    chosen = [_parameter_description(FIELDS, HELP, {"type": "string"})]
    chosen.append(_parameter_description(FAIL, FAIL_HELP, {"type": "boolean", "default": False}))
    return {**extra, "parameters": [*extra.get("parameters", ()), *chosen]}


def question_request(question: Question[Any]) -> dict[str, Any]:
    """Return the description of the query parameters and the body of a question's call."""
    shape = body_shape(question.name)
    options, reading = shape.options, shape.reading
    parameters = _model_parameters(options, "Where the body does not say it.")
    if reading is not None:
        fields = options.model_fields
        parameters += [each for each in _model_parameters(reading) if each["name"] not in fields]
    files = [each for each in question.inputs if each.from_file is not None]
    parts = {each.name: {"type": "string", "format": "binary", "description": each.help} for each in files}
    content: dict[str, dict[str, Any]] = {
        JSON: {"schema": _schema_reference(_body_model(question)), "example": question.example},
        BYTES: {"schema": {"type": "string", "format": "binary", "description": question.inputs[0].help}},
        FORM: {"schema": {"type": "object", "properties": parts}},
    }
    if question.name == PLAN:
        content |= {media: {"schema": {"type": "string"}} for media in TABLES}
    page = {"x-view": question.view, "x-link": question.link}
    offered = {name: row._asdict() for name, row in page.items() if row is not None}
    return describe_selection(
        {"parameters": parameters, "requestBody": {"required": True, "content": content}, **offered}
    )


def _job_description() -> dict[str, Any]:
    """Return the OpenAPI description of job submission: the bodies of all questions, and the job's own fields."""
    described = question_request(QUESTIONS[PLAN])
    kind = {"type": "string", "enum": [*QUESTIONS], "default": PLAN}
    says = "The call that the job is for: its body is that of the call, with terms beside."
    bodies = {"anyOf": [_schema_reference(_body_model(question)) for question in QUESTIONS.values()]}
    described["parameters"] = [
        *(each for each in described["parameters"] if each["name"] not in (FIELDS, FAIL, "name")),
        _parameter_description("kind", says, kind),
        *_model_parameters(Terms),
        _parameter_description("name", "The job's name, that of its problem by default.", {"type": "string"}),
    ]
    described["requestBody"]["content"][JSON] = {"schema": bodies}
    return described


_PLAN_ANSWER: dict[str, Any] = {
    "description": "The plan; as CSV or as tables of memories where the caller's Accept prefers it and there is one.",
    "content": {
        **{row.media_type: {"schema": {"type": "string"}} for row in PLAN_FORMATS.values()},
        JSON: {
            "schema": {"anyOf": [_schema_reference(Plan), {"type": "array", "items": {}}, {"type": "object"}]},
            "example": _PLAN_EXAMPLE,
        },
    },
}


class _QuietJsonSchema(GenerateJsonSchema):
    """A generator of JSON Schemas that silently omits defaults without a JSON form."""

    ignored_warning_kinds = GenerateJsonSchema.ignored_warning_kinds | {"non-serializable-default"}


def _call_descriptions() -> dict[str, dict[str, Any]]:
    """Return the OpenAPI descriptions, by path and method, of the calls that parse their bodies themselves."""
    contents = {**_PLAN_ANSWER["content"], JSON: {"schema": {}}, TEXT: {"schema": {"type": "string"}}}
    result = {"description": "The answer of the call of the job's kind.", "content": contents}
    so_far = {**result, "description": "The best answer so far of a job that has not ended."}
    questions = {question.path: {"post": _question_description(question)} for question in QUESTIONS.values()}
    return questions | {
        "/v1/jobs": {"post": _job_description()},
        "/v1/jobs/{job_id}/plan": {"get": describe_selection({"responses": {"200": _PLAN_ANSWER}})},
        "/v1/jobs/{job_id}/result": {"get": describe_selection({"responses": {"200": result, "202": so_far}})},
        "/v1/plans/{problem_hash}": {"get": describe_selection({})},
        "/v1/batch": {"post": {"parameters": question_request(QUESTIONS[PLAN])["parameters"]}},
    }


def _question_description(question: Question[Any]) -> dict[str, Any]:
    answer = _PLAN_ANSWER
    if question.name != PLAN:
        first, *others = map(_schema_reference, question.answers)
        schema = {"oneOf": [first, *others]} if others else first
        answer = {"description": "The answer.", "content": {JSON: {"schema": schema}}}
    return {**question_request(question), "responses": {"200": answer}}


def describe(app: FastAPI) -> None:
    """Make the app answer `/openapi.json` with a description that also has bodies, models and error answers."""

    def openapi() -> dict[str, Any]:
        """Return the app's OpenAPI description, which the first call builds."""
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            from tomllib import loads

            described = loads(Path(__file__).with_name("calls.toml").read_text(encoding="utf-8"))
            errors = described.pop("errors")
            for calls in (_call_descriptions(), described):
                deep_dict_update(schema["paths"], calls)
            models: list[type[BaseModel]] = [Problem, Plan, ProblemDetails, JobChange]
            for question in QUESTIONS.values():
                models += [_body_model(question), *question.answers]
            wanted: list[tuple[type[BaseModel], Literal["validation"]]] = [(one, "validation") for one in models]
            _, schemas = models_json_schema(wanted, ref_template=_REF, schema_generator=_QuietJsonSchema)
            described_models = schema.setdefault("components", {}).setdefault("schemas", {})
            described_models.update(schemas["$defs"])
            # The service answers ProblemDetails instead of these models of FastAPI.
            for name in _FRAMEWORK_ERRORS:
                described_models.pop(name, None)
            for call in (call for calls in schema["paths"].values() for call in calls.values()):
                if _FRAMEWORK_ERRORS[0] in str(call["responses"].get("422")):
                    del call["responses"]["422"]
                if "security" in call:
                    more = error_answers(401, 403, 429, 503, *((408,) if "requestBody" in call else ()))
                    call["responses"] = {str(status): answer for status, answer in more.items()} | call["responses"]
                for status, answer in call["responses"].items():
                    if MEDIA_TYPE in answer.get("content", ()):
                        answer["description"] = errors[status]
            app.openapi_schema = schema
        return app.openapi_schema

    written: list[bytes] = []

    async def answer_schema(_: Request) -> Response:
        if not written:
            written.append(bytes(JSONResponse(openapi()).body))
        return Response(written[0], media_type=JSON)

    app.openapi = openapi  # type: ignore[method-assign]
    app.add_route("/openapi.json", answer_schema, include_in_schema=False)
