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
VALID = GenerationMode.POSITIVE
BOTH = ("plan", "verify", "liveness", "order", "explain", "jobs", "batch")
ONLY_WRONG = ("cascade", "certify", "check", "compare", "convert", "schedule", "shapes", "sweep")
CALLS = [
    *(("GET", path, VALID) for path in ("/healthz", "/readyz", "/metrics", "/v1/solvers")),
    *(("POST", f"/v1/{name}", mode) for name in BOTH for mode in (VALID, GenerationMode.NEGATIVE)),
    *(("POST", f"/v1/{name}", GenerationMode.NEGATIVE) for name in ONLY_WRONG),
    *(("GET", "/v1/jobs", mode) for mode in (VALID, GenerationMode.NEGATIVE)),
    *(("GET", f"/v1/jobs/{{job_id}}{part}", VALID) for part in ("", "/events", "/plan", "/result")),
    ("DELETE", "/v1/jobs/{job_id}", VALID),
]


@pytest.mark.drawn
@pytest.mark.parametrize(("method", "path", "mode"), CALLS)
def test_answers_conform_to_the_schema(server: RunningServer, method: str, path: str, mode: GenerationMode) -> None:
    examples = 2 if path == "/v1/liveness" else 4  # drawing from its recursive schema is slow

    @settings(max_examples=examples * DEPTH, suppress_health_check=list(HealthCheck))
    @given(case=SCHEMA[path][method].as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case) -> None:
        case.call_and_validate(base_url=f"http://127.0.0.1:{server.port}", checks=CHECKS, timeout=30)

    check()
