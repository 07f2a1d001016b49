"""Plan with a service, from Python and with curl. First run `memplan serve` (`memplan[server]`) elsewhere."""

import json
import shutil
import subprocess
import sys

from memplan import Buffer, Problem, verify
from memplan.api.client.http import Client
from memplan.api.options import Options

server = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"
problem = Problem(
    buffers=[
        Buffer(id="input", size=64, start=0, end=2),
        Buffer(id="conv1", size=96, start=1, end=3),
        Buffer(id="conv2", size=96, start=2, end=4),
    ]
)
with Client(server) as client:
    # First call the service and wait for the plan; then submit the same problem as a job, and wait until the job ends.
    plan = client.plan(problem, Options(time_limit_s=2))
    print(f"call: {plan.status}, {plan.peak} bytes")
    job = client.submit(problem, Options(time_limit_s=2))
    print(f"job {job.id}: {client.wait(job.id).state}")
assert verify(problem, plan).valid

# Any program can send this request: the body is the problem as JSON, and the options are in the URL's query.
if shutil.which("curl"):
    address, body = f"{server}/v1/plan?time_limit_s=2", problem.model_dump_json(exclude_defaults=True)
    command = ["curl", "--silent", "--fail", address, "--header", "content-type: application/json", "--data", body]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"curl: {answer['status']}, {answer['peak']} bytes")
