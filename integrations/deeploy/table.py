"""Test networks of Deeploy on its own plans and on memplan's: `python -m integrations.deeploy.table`.

Its arguments are a Python that has what Deeploy needs; Deeploy's tree, in which nothing changes; and a folder that has
`minimalloc`, which is examples/core/minimalloc.cpp built with -DMINIMALLOC_MAIN. The C code of the platform Generic is
generated with each strategy, and run. Outputs must be what the network's files expect, and equal bit by bit, and no
plan larger than the less of both own strategies, or it ends with an error. Writes table.json.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from integrations.tables import record, row_of

MODELS = (
    "CCT/FP32/CCT_1_16_16_8",
    "CCT/FP32/CCT_1_16_16_32",
    "CCT/FP32/CCT_1_16_16_64",
    "CCT/FP32/CCT_1_16_16_128",
    "CCT/FP32/CCT_1_32_32_8",
    "CCT/FP32/CCT_1_32_32_32",
    "CCT/FP32/CCT_2_32_32_128",
    "CCT/Int/ICCT",
    "CCT/Int/ICCT_8",
    "CCT/Int/ICCT_ITA",
    "CCT/Int/ICCT_ITA_8",
    "CNN_Linear1",
    "CNN_Linear2",
    "EEGFormer",
    "miniMobileNet",
    "miniMobileNetv2",
    "MLPerf/AnomalyDetection",
    "MLPerf/ImageClassification",
    "MLPerf/KeywordSpotting",
    "MLPerf/VisualWakeWords",
)
OWN = ("TetrisRandom", "TetrisCo-Opt")
MAIN = """#include "Network.h"
int check(void);
int main(void) {
  int errors = check();
  for (uint32_t k = 0; k < DeeployNetwork_num_outputs; ++k)
    fwrite(DeeployNetwork_outputs[k], 1, DeeployNetwork_outputs_bytes[k], stderr);
  return errors != 0;
}
"""


def run(*command: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(command, capture_output=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout[-400:]!r} {done.stderr[-400:]!r}")
    return done


def outputs(tree: Path, folder: str) -> bytes:
    """Compile the code in a folder, and return the bytes that it computes."""
    generic, program = tree / "TargetLibraries" / "Generic", str(Path(folder, "program"))
    Path(folder, "outputs.c").write_text(MAIN)
    compiler = ("cc", "-O1", "-w", "-DDEEPLOY_GENERIC_PLATFORM", "-I", folder, "-I", str(generic / "inc"))
    theirs = (tree / "DeeployTest" / "Platforms" / "Generic" / "main.c", Path(folder, "Network.c"))
    run(*compiler, "-Dmain=check", "-c", *map(str, theirs), cwd=folder)
    own = (Path(folder, "outputs.c"), *Path(folder).glob("*.o"), *generic.glob("src/*.c"))
    run(*compiler, "-o", program, *map(str, own), "-lm", "-Wl,-z,muldefs")
    return run(program).stderr


def row(python: str, tree: Path, minimalloc: str, model: str) -> dict[str, Any]:
    tests, plans, computed = tree / "DeeployTest", dict[str, Any](), set[bytes]()
    names = {"MINIMALLOC_INSTALL_DIR": minimalloc, "PYTHONPATH": f"{tree}:{tests}"}
    for strategy in (*OWN, "MiniMalloc"):
        with tempfile.TemporaryDirectory() as folder:
            command = (python, str(Path(__file__).with_name("generate.py")), "Generic", strategy)
            run(*command, f"Tests/Models/{model}", folder, cwd=tests, env={**os.environ, **names})
            plans[strategy] = json.loads(Path(folder, "plan.json").read_text())
            computed.add(outputs(tree, folder))
    if len(computed) > 1:
        raise SystemExit(f"{model}: outputs differ")
    before, own = min((plans[each]["arenas"]["L2"], plans[each]["us"]) for each in OWN)
    (call,), after, us = (plans["MiniMalloc"][key] for key in ("calls", "arenas", "us"))
    name, times = model.rpartition("/")[2], ([round(own)] * 2, [round(us)] * 2)
    return row_of(name, call["buffers"], before, after["L2"], call["bound"], *times)


def main() -> None:
    python, tree, minimalloc = sys.argv[1:]
    rows = (row(python, Path(tree).resolve(), minimalloc, model) for model in MODELS)
    record(Path(__file__).with_name("table.json"), rows)


if __name__ == "__main__":
    main()
