"""Commands that work with only the base package installed, and the messages about missing extras."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memplan.planner.errors.extras import PACKAGES
from memplan.solvers.core.build import folders, library_of
from memplan.solvers.core.tables import Library
from tests.support.house_copies import copy_packages, run_beside

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (
    "import sys; missing, *arguments = sys.argv[1:];"
    "sys.modules.update(dict.fromkeys(missing.split(',')));"
    "from memplan.api.cli.main import main; sys.exit(main(arguments))"
)
"""Script that runs the command as if some packages were not installed."""
LINES = (
    "import os, shlex, sys; missing, *lines = sys.argv[1:];"
    "sys.modules.update(dict.fromkeys(missing.split(',')));"
    "from memplan.api.cli.main import main; out = os.dup(1); os.dup2(os.open(os.devnull, os.O_WRONLY), 1);"
    "[os.write(out, f'{main(shlex.split(line)[1:])}\\n'.encode()) for line in lines]"
)
"""Script that runs several command lines as if packages were not installed, and prints their exit statuses."""
EXTRAS = sorted(("torch", *(package for packages in PACKAGES.values() for package in packages)))
HARD = "examples/problems/minimalloc/A.1048576.csv"


def base(
    *arguments: str, missing: list[str] = EXTRAS, program: str = PROGRAM, folder: Path = ROOT, **settings: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        # Hidden packages are still declared as installed, which causes a warning to ignore.
        [sys.executable, "-W", "ignore::UserWarning", "-c", program, ",".join(missing), *arguments],
        cwd=folder,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_base_install_plans_explains_orders_and_checks() -> None:
    lines = {
        "memplan plan examples/two_memories.json": "0",
        "memplan explain examples/mobilenet_v2.csv --capacity 1MiB": "1",
        "memplan order examples/graphs/torch_resnet18_b1_sgd.json": "0",
        "memplan check examples/mobilenet_v2.csv --budget 2MiB": "0",
        "memplan liveness examples/operations.json": "0",
        "memplan --help": "0",
    }
    done = base(*lines, program=LINES)
    assert "Traceback" not in done.stderr
    assert done.stdout.split() == list(lines.values())


def test_commands_of_the_readme_run_in_the_base_install_or_name_their_documented_extra(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for page in ("README.md", "docs/reference.md"):
        (block,) = re.findall(r"^```sh\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
        lines = [line.partition("#")[::2] for line in block.splitlines()]
        done = base(*(command.strip() for command, _ in lines), program=LINES, folder=tmp_path)
        found = dict(zip(lines, done.stdout.splitlines(), strict=True))
        failed = {command: note for (command, note), status in found.items() if status != "0"}
        assert [command for command, note in failed.items() if "extra" not in note] == [], done.stderr
        assert set(re.findall(r"memplan\[(\w+)\]", done.stderr)) == {note.split()[-1] for note in failed.values()}


def test_the_base_install_compares_and_audits_suboptimal_plans(tmp_path: Path) -> None:
    # Without an engine, the audit lacks only the minimum number of moves.
    plan = str(tmp_path / "plan.json")
    assert base("plan", HARD, "--solver", "reference:tflite-micro-greedy", "-o", plan).returncode == 0
    line = "not tried: the search for the fewest needs ortools, which is not installed: pip install 'memplan[engines]'"
    done = base("verify", HARD, plan, "--better", "--format", "table", "--time-limit", "6")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, line)
    done = base("plan", HARD, "--keep", plan, "--time-limit", "2")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, f"memplan: {line}")
    assert json.loads(done.stdout)["kept"]["proved"] is False


def test_the_base_install_proves_a_hard_problem_optimal() -> None:
    done = base("plan", HARD)
    assert json.loads(done.stdout)["status"] == "optimal"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [
        (("plan", "examples/mobilenet_v2.csv", "--solver", "cp-sat"), "ortools", "engines"),
        (("serve",), "", "server"),
        (("keys", "list"), "", "server"),
        (("worker",), "", "server"),
    ],
)
def test_a_missing_package_is_told_with_its_installation(arguments: tuple[str, ...], package: str, extra: str) -> None:
    done = base(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"needs {package}" in done.stderr
    assert done.stderr.endswith(f", which is not installed: pip install 'memplan[{extra}]'\n")
    assert done.stderr.count("\n") == 1


def test_an_unbuilt_core_is_reported_with_the_command_that_builds_it(tmp_path: Path) -> None:
    with pytest.raises(ImportError, match=r"the compiled core was not built; build it with: python -m \S+build"):
        _ = Library(tmp_path).handle
    (tmp_path / "built").mkdir()
    library_of(tmp_path).write_bytes(b"no library")
    with pytest.raises(ImportError, match="the compiled core cannot be loaded: "):
        _ = Library(tmp_path).handle


def test_an_unbuilt_checkout_is_not_reported_as_an_internal_error(tmp_path: Path) -> None:
    copy_packages(tmp_path)
    shutil.rmtree(tmp_path / "solvers/core/built")
    shutil.copy(ROOT / "examples/mobilenet_v2.csv", tmp_path)
    ran = run_beside(
        tmp_path, "from memplan.api.cli.main import main; raise SystemExit(main(['plan', 'mobilenet_v2.csv']))"
    )
    assert ran.returncode == 2
    assert ran.stderr.endswith("the compiled core was not built; build it with: python -m memplan.solvers.core.build\n")
    assert ran.stderr.count("\n") == 1


def test_doctor_lists_the_loaded_libraries_and_how_to_install_missing_extras() -> None:
    lines = base("doctor").stdout.splitlines()
    for folder in folders(ROOT):
        library = library_of(folder)
        assert any(line.startswith(f"  {library.stem}: ") and line.endswith(library.name) for line in lines)
    assert {f"  pip install 'memplan[{extra}]'" for extra in PACKAGES} <= set(lines)
