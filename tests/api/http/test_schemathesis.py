"""The running server conforms to its schema for generated valid and invalid requests."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import CheckContext, GenerationMode, Response
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from memplan.api.http.app import create_app
from tests.support.depth import DEPTH
from tests.support.server import RunningServer


def no_fault(context: CheckContext, response: Response, case: schemathesis.Case) -> bool | None:
    """Refuse every status from 500 on except 504, because a caller may set a time limit that is too short."""
    return None if response.status_code == 504 else not_a_server_error(context, response, case)


CHECKS = [no_fault, status_code_conformance, content_type_conformance, response_schema_conformance]
SCHEMA = schemathesis.openapi.from_dict(create_app().openapi())
CALLS = [
    ("GET", "/healthz", GenerationMode.POSITIVE),
    ("GET", "/readyz", GenerationMode.POSITIVE),
    ("GET", "/metrics", GenerationMode.POSITIVE),
    ("GET", "/v1/solvers", GenerationMode.POSITIVE),
    ("POST", "/v1/plan", GenerationMode.POSITIVE),
    ("POST", "/v1/plan", GenerationMode.NEGATIVE),
    ("POST", "/v1/verify", GenerationMode.POSITIVE),
    ("POST", "/v1/verify", GenerationMode.NEGATIVE),
    ("POST", "/v1/liveness", GenerationMode.POSITIVE),
    ("POST", "/v1/liveness", GenerationMode.NEGATIVE),
    ("POST", "/v1/order", GenerationMode.POSITIVE),
    ("POST", "/v1/order", GenerationMode.NEGATIVE),
    ("POST", "/v1/cascade", GenerationMode.NEGATIVE),
    ("POST", "/v1/explain", GenerationMode.POSITIVE),
    ("POST", "/v1/explain", GenerationMode.NEGATIVE),
    ("POST", "/v1/certify", GenerationMode.NEGATIVE),
    ("POST", "/v1/check", GenerationMode.NEGATIVE),
    ("POST", "/v1/compare", GenerationMode.NEGATIVE),
    ("POST", "/v1/convert", GenerationMode.NEGATIVE),
    ("POST", "/v1/schedule", GenerationMode.NEGATIVE),
    ("POST", "/v1/shapes", GenerationMode.NEGATIVE),
    ("POST", "/v1/sweep", GenerationMode.NEGATIVE),
    ("POST", "/v1/jobs", GenerationMode.POSITIVE),
    ("POST", "/v1/jobs", GenerationMode.NEGATIVE),
    ("GET", "/v1/jobs", GenerationMode.POSITIVE),
    ("GET", "/v1/jobs", GenerationMode.NEGATIVE),
    ("GET", "/v1/jobs/{job_id}", GenerationMode.POSITIVE),
    ("GET", "/v1/jobs/{job_id}/events", GenerationMode.POSITIVE),
    ("GET", "/v1/jobs/{job_id}/plan", GenerationMode.POSITIVE),
    ("GET", "/v1/jobs/{job_id}/result", GenerationMode.POSITIVE),
    ("DELETE", "/v1/jobs/{job_id}", GenerationMode.POSITIVE),
    ("POST", "/v1/batch", GenerationMode.POSITIVE),
    ("POST", "/v1/batch", GenerationMode.NEGATIVE),
]


@pytest.mark.drawn
@pytest.mark.parametrize(("method", "path", "mode"), CALLS)
def test_every_answer_to_generated_requests_conforms_to_the_schema(
    server: RunningServer, method: str, path: str, mode: GenerationMode
) -> None:
    examples = 2 if path == "/v1/liveness" else 4  # drawing from its recursive schema is slow

    @settings(max_examples=examples * DEPTH, suppress_health_check=list(HealthCheck))
    @given(case=SCHEMA[path][method].as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case) -> None:
        case.call_and_validate(base_url=f"http://127.0.0.1:{server.port}", checks=CHECKS, timeout=30)

    check()
