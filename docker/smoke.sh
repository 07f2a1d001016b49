#!/bin/sh
# Does a service of memplan serve and plan? Without a URL it starts one of its own, as inside the image:
#
#   sh docker/smoke.sh http://127.0.0.1:8000                       one that runs already
#   docker run --rm -i --entrypoint sh memplan <docker/smoke.sh    one of the image's own
#
# MEMPLAN_KEY is the key to show, where one is asked for, and MEMPLAN_SOLVERS names the engines to try, where they are.
set -eu
url=${1:-}
if [ -z "$url" ]; then
    test "$(id -u)" -ne 0 || { echo "smoke: the image must not run as root" >&2; exit 1; }
    url=http://127.0.0.1:8765
    test "$(memplan doctor | grep -c '/core/built/memplan.*[.]so$')" -eq 6 || { memplan doctor >&2; exit 1; }
    python3 - <<'PYTHON'
from memplan import solve
from memplan.api.reports.picture import draw
from memplan.planner.foreign.reading import read_problem
from onnx import TensorProto, helper

tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [64]) for name in "abc"]
nodes = [helper.make_node("Relu", [x], [y]) for x, y in ("ab", "bc")]
graph = helper.make_graph(nodes, "two", tensors[:1], tensors[2:], value_info=tensors[1:2])
problem = read_problem(helper.make_model(graph).SerializeToString(), "two.onnx")[0]
assert draw(problem, solve(problem)).startswith(b"<svg")
print("smoke: it reads ONNX and draws")
PYTHON
    memplan serve --port 8765 &
    trap 'kill $! 2>/dev/null; wait' EXIT
fi
python3 - "$url" <<'PYTHON'
import json
import os
import sys
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

URL = sys.argv[1]
# Limits of time are there so that a hanging service ends the check; a calm machine needs 3 s, a slow one 50 for OR-Tools alone.
# Ten bytes are alive at once, but no plan needs less than eleven: a search has to prove it.
ROWS = [(1, 1, 3), (2, 1, 5), (5, 0, 1), (3, 4, 7), (2, 1, 4), (4, 3, 7), (2, 2, 4), (5, 0, 2)]
PROBLEM = {"buffers": [{"id": i, "size": size, "start": low, "end": high} for i, (size, low, high) in enumerate(ROWS)]}


def ask(path, content=None):
    body = None if content is None else json.dumps(content).encode()
    headers = {"Content-Type": "application/json"}
    if "MEMPLAN_KEY" in os.environ:
        headers["Authorization"] = "Bearer " + os.environ["MEMPLAN_KEY"]
    with urlopen(Request(URL + path, body, headers), timeout=300) as answer:
        return json.load(answer)


started = time.monotonic()
while True:
    try:
        ask("/readyz")
        break
    except OSError as error:  # nobody listens, or it is not ready
        if time.monotonic() - started > 300:
            sys.exit(f"smoke: {URL} is not ready: {error}")
        time.sleep(0.1)
print(f"smoke: ready after {time.monotonic() - started:.1f} s")
SOLVERS = os.environ.get("MEMPLAN_SOLVERS", "auto").split(",")  # auto,cp-sat,highs,cbc where the engines are
for solver in SOLVERS:
    plan = ask("/v1/plan", {"problem": PROBLEM, "options": {"solver": solver, "time_limit_s": 200}})
    assert (plan["status"], plan["peak"]) == ("optimal", 11), plan
    assert ask("/v1/verify", {"problem": PROBLEM, "plan": plan})["valid"], plan
try:
    ask("/v1/plan", {"buffers": [{"id": 1, "size": 8, "start": 7, "end": 5}]})
    sys.exit("smoke: a wrong problem was taken")
except HTTPError as error:
    assert error.code == 422, error
print("smoke: it plans, verifies and refuses what is wrong")
PYTHON
