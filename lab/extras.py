"""Run the documented use of each extra in a new environment with only this extra: `python -m lab.extras [NAME ...]`.

Run it before a release. `pip install '.[NAME]'` creates each environment. The tests of each commit run these programs
in their own environment, in which they hide all packages that the extra does not require.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
BASE = "base"
_HIDE = "import os, sys; sys.modules.update(dict.fromkeys(os.environ['MEMPLAN_HIDDEN'].split()))\n"
"""The content of a file `sitecustomize.py`, which makes hidden packages look uninstalled, also in child processes."""
_COMMAND = """
import shlex
from memplan.api.cli.main import main
def run(line):
    assert main(shlex.split(line)) == 0, line
"""
_SERVE = """
import socket, subprocess, sys
import memplan
from memplan.api.client.http import Client
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = str(free.getsockname()[1])
command = [sys.executable, "-c", "from memplan.api.cli.main import main; main()", "serve", "--port", port]
server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    with Client(f"http://127.0.0.1:{port}", patience_s=180) as client:
        problem = memplan.read_problem("examples/two_memories.json")
        assert client.plan(problem).status == "optimal"
        job = client.submit(problem)
        assert client.wait(job.id).state == "succeeded"
finally:
    server.terminate()
    server.wait()
"""
PROGRAMS: Mapping[str, str] = {
    BASE: """
import json
import tempfile
from pathlib import Path
import memplan
from memplan.api.client.http import Client
from memplan.api.client.http_async import AsyncClient
from memplan.api.options import Options
with Client("http://127.0.0.1:9", key=None):
    pass
assert memplan.plan(memplan.read_problem("examples/mobilenet_v2.csv")).status == "optimal"
run("plan examples/two_memories.json -q")
run("order examples/graphs/torch_resnet18_b1_sgd.json -q")
run("order examples/graphs/torch_resnet18_b1_sgd.json --recompute --time-limit 2 -q")
run("plan examples/mobilenet_v2.csv -q --solver reference:ttlang-multi-order-decreasing")
run("plan examples/mobilenet_v2.csv --heaps 2MiB --time-limit 2 -q")
run("plan tests/models/exported.pt2 --dim s77=16 -q")
run("plan tests/models/recorded/kws_dscnn_int8.tflite -q")
run("plan tests/models/thirds.pte -q")
run("bench examples/mobilenet_v2.csv --solvers greedy --time-limit 1")
run("library check minimalloc-a --fast")

folder = Path(tempfile.mkdtemp())
run(f"plan examples/mobilenet_v2.csv -q -o {folder}/plan.html")
run(f"cascade examples/networks/mobilenet_v1.json --point -1 --time-limit 2 -q -o {folder}/")
buffers = [{"id": k, "size": 4, "start": k, "end": k + 1} for k in range(3)]
(folder / "objects.json").write_text(json.dumps({"kind": "objects", "buffers": buffers}))
run(f"plan {folder}/objects.json -q")
reuse, pools = [{"pairs": [[0, 1], [1, 2]], "cost": 1}], [{"name": "fast", "size": 12}]
priced = {"buffers": buffers, "reuse": reuse, "pools": pools, "objective": "cost"}
(folder / "priced.json").write_text(json.dumps(priced))
run(f"plan {folder}/priced.json --solver prices -q")
""",
    "engines": """
for solver in ("cp-sat", "highs", "cbc"):
    run(f"plan examples/two_memories.json -q --solver {solver}")
""",
    "server": _SERVE,
    "postgres": """
from pathlib import Path
from memplan.api.http.app import create_app
from memplan.api.store.database import Database
from memplan.api.store.errors import StoreError
from memplan.api.store.store import Store
try:  # there is no server, only the packages that connect to one
    with Database.open("postgresql://nobody@127.0.0.1:9/none", Path()).reading():
        pass
except StoreError as error:
    assert "127.0.0.1" in str(error), error
""",
    "onnx": """
import memplan
from onnx import TensorProto, helper
value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4])
nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Exp", ["y"], ["z"])]
model = helper.make_model(helper.make_graph(nodes, "small", [value("x")], [value("z")]))
assert memplan.solve(memplan.read_problem(model.SerializeToString())).status == "optimal"
""",
    "mcp": """
from memplan.extensions.mcp.server import tool_of
from memplan.questions import QUESTIONS
assert [tool_of(each).name for each in QUESTIONS.values()] == [*QUESTIONS]
""",
    "cluster": """
from distributed import LocalCluster
with LocalCluster(n_workers=1, processes=False, protocol="tcp://", dashboard_address=None) as cluster:
    address = cluster.scheduler_address.replace("tcp://", "dask://")
    run(f"bench examples/mobilenet_v2.csv --solvers greedy --time-limit 1 --on {address}")
""",
    "executorch": """
import torch
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from memplan.runtimes.executorch.inside.algorithm import MemplanAlgorithm
from memplan.runtimes.executorch.inside.cadence import MemplanCadencePlanning
from memplan.runtimes.executorch.inside.order import reordered
exported = torch.export.export(torch.nn.Linear(4, 4), (torch.zeros(1, 4),))
algorithm = MemplanAlgorithm()
planning = MemoryPlanningPass(memory_planning_algo=algorithm)
reordered(to_edge(exported)).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
assert [each.plan.status for each in algorithm.planned] == ["optimal"]
""",
    "runtimes": """
import ai_edge_litert.interpreter, onnxruntime
run("convert tests/models/recorded/kws_dscnn_int8.tflite --to tflite -q -o /dev/null")
""",
    "peers": """
import ethosu.vela
run("bench examples/mobilenet_v2.csv --solvers supermalloc,omnimalloc --time-limit 1")
""",
    "docs": """
import subprocess, sys, tempfile
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder], check=True)
""",
    "tvm": """
import memplan.tvm
memplan.tvm.install()
memplan.tvm.uninstall()
""",
    "torch": """
import memplan.torch, torch
""",
    "all": """
run("doctor")
import fastapi, highspy, onnx, ortools, psycopg, pulp, sqlalchemy, uvicorn
""",
}
"""Maps each extra to a program with its documented use."""


def requirements(extra: str) -> list[str]:
    """Return the requirements that `pyproject.toml` lists for memplan itself and for an extra."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    found, names = list(project["dependencies"]), [] if extra == BASE else [extra]
    while names:
        for line in extras[names.pop()]:
            own = Requirement(line)
            names += own.extras if own.name == "memplan" else ()
            found += [] if own.name == "memplan" else [line]
    return found


def unrelated_packages(extra: str) -> list[str]:
    """Return the installed packages that neither memplan nor the extra requires, directly or indirectly."""
    kept = {"memplan", "pip", "setuptools", *_needed_distributions(map(Requirement, requirements(extra)))}
    packages = metadata.packages_distributions()
    return sorted(name for name, brought_by in packages.items() if kept.isdisjoint(map(_normal_name, brought_by)))


def missing_packages(extra: str) -> list[str]:
    needed = [Requirement(line) for line in requirements(extra)]
    installed = {_normal_name(each.name) for each in metadata.distributions()}
    return [each.name for each in needed if _applies(each, "") and _normal_name(each.name) not in installed]


def _needed_distributions(needed: Iterable[Requirement]) -> set[str]:
    """Return the names of the installed packages that the requirements need, directly or through other packages."""
    waiting, seen = [(each, "") for each in needed], set()
    while waiting:
        requirement, of_extra = waiting.pop()
        for extra in ("", *requirement.extras):
            key = (_normal_name(requirement.name), extra)
            if key in seen or not _applies(requirement, of_extra):
                continue
            seen.add(key)
            try:
                waiting += [(Requirement(line), extra) for line in metadata.requires(requirement.name) or ()]
            except metadata.PackageNotFoundError:  # A package that is not installed requires no others.
                continue
    return {name for name, _ in seen}


def _applies(requirement: Requirement, extra: str) -> bool:
    """Return True if a requirement applies to this environment with the given extra."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _normal_name(name: str) -> str:
    """Return a package's name in the normal form of PyPI: in lower case, with hyphens as separators."""
    return re.sub(r"[-_.]+", "-", name).lower()


def run(extra: str, folder: Path, python: str = sys.executable, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the documented program of an extra with the interpreter `python`, with its data in `folder`."""
    return subprocess.run(
        [python, "-c", _COMMAND + PROGRAMS[extra]],
        cwd=ROOT,
        env=os.environ | {"MEMPLAN_DATA_FOLDER": str(folder / "data")} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def run_alone(extra: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the program of an extra in this environment, with all other packages hidden."""
    (folder / "sitecustomize.py").write_text(_HIDE, encoding="utf-8")
    return run(extra, folder, PYTHONPATH=str(folder), MEMPLAN_HIDDEN=" ".join(unrelated_packages(extra)))


def _run_in_new(extra: str) -> subprocess.CompletedProcess[str]:
    """Create an environment with only this extra, run the extra's program in it, and return the finished process."""
    with TemporaryDirectory(prefix="memplan-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = f"{folder}/bin/python"
        what = "." if extra == BASE else f".[{extra}]"
        subprocess.run([python, "-m", "pip", "install", "-q", what], cwd=ROOT, check=True)
        return run(extra, Path(folder), python)


def main() -> int:
    """Run the programs of the extras that the arguments name, or of all extras; return 1 if one failed, else 0."""
    failed = {name: done.stderr for name in sys.argv[1:] or PROGRAMS if (done := _run_in_new(name)).returncode}
    print(json.dumps(failed, indent=1) if failed else "all work alone")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
