"""The CMake function `memplan_plan`, in projects that are configured, built and run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.elf import Elf
from tests.support.profiled import PROFILED

ROOT = Path(__file__).parents[2]
MEMPLAN = Path(sys.executable).with_name("memplan")
pytestmark = [pytest.mark.skipif(shutil.which(name) is None, reason=f"needs {name}") for name in ("cmake", "cc")]
pytestmark.append(pytest.mark.skipif(not MEMPLAN.exists(), reason="needs memplan installed as a command"))


def cmake(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CLICOLOR": "0"}
    return subprocess.run(["cmake", *arguments], capture_output=True, text=True, timeout=120, env=environment)


def configure(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    found = (f"-Dmemplan_DIR={ROOT / 'cmake'}", f"-DMEMPLAN_EXECUTABLE={MEMPLAN}")
    return cmake("-S", folder, "-B", folder / "build", *found, *options)


def build(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return cmake("--build", folder / "build", *options)


def assert_success(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples" / "cmake", tmp_path / "project")
    return tmp_path / "project"


def test_the_cmake_example_is_planned_checked_compiled_and_run(project: Path) -> None:
    assert_success(configure(project))
    assert "memplan: sram: 768 bytes of 768 (+0)" in assert_success(build(project))
    assert subprocess.check_output([project / "build" / "example"]) == b"768 bytes, conv1 at 512\n"
    assert "within limits" in (project / "build" / "memory.md").read_text()
    assert "memplan: " not in assert_success(build(project))


def test_a_cmake_build_is_checked_against_a_budgets_file(project: Path) -> None:
    (project / "budgets.toml").write_text('["buffers.csv"]\nbudget = "sram=767"\n')
    lists = project / "CMakeLists.txt"
    lists.write_text(lists.read_text().replace("  REPORT", "  BUDGETS budgets.toml\n  REPORT"))
    assert_success(configure(project))
    done = build(project)
    assert done.returncode != 0
    assert "over-budget" in done.stdout + done.stderr


def test_the_cmake_argument_profile_decides_which_pool_is_filled(project: Path) -> None:
    (project / "pools.json").write_text(json.dumps(PROFILED))
    lists = project / "CMakeLists.txt"
    start, _, end = lists.read_text().partition("  PROBLEM buffers.csv")
    _, _, end = end.partition("  REPORT")
    lists.write_text(f"{start}  PROBLEM pools.json TO malloc-c BUDGET slow=100 PROFILE size REPORT{end}")
    assert_success(configure(project))
    assert "memplan: fast: 0 bytes" in assert_success(build(project, "--target", "arena"))


def test_a_cmake_build_fails_above_the_budget_or_after_growth(project: Path) -> None:
    buffers = project / "buffers.csv"
    buffers.write_text(buffers.read_text().replace("1,3,256", "1,3,272"))
    assert_success(configure(project))
    for budget in (768, 768, 767):  # a failed check and a changed budget must both rerun the check
        lists = project / "CMakeLists.txt"
        lists.write_text(lists.read_text().replace("BUDGET sram=768", f"BUDGET sram={budget}"))
        done = build(project, "--target", "arena")
        assert done.returncode != 0
        said = done.stdout + done.stderr
        assert f'over-budget: pool "sram": uses 784 bytes, {784 - budget} above its budget of {budget}' in said
        assert '"conv1" (+16 bytes, grown, was 256)' in said


def test_cmake_reports_a_missing_baseline_with_the_target_that_writes_it(project: Path) -> None:
    (project / "memory.json").unlink()
    assert "build arena_baseline and configure" in " ".join(assert_success(configure(project)).split())
    assert_success(build(project, "--target", "arena_baseline"))
    assert "WARNING" not in assert_success(configure(project)).upper()
    assert "memplan: sram: 768 bytes of 768 (+0)" in assert_success(build(project, "--target", "arena"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("", "memplan_plan(arena): PROBLEM is required"),
        ("PROBLEM x.csv TO rust", "memplan_plan(arena): TO must be c or malloc-c, got rust"),
        ("PROBLEM x.csv SIZE 5", "memplan_plan(arena): unknown arguments: SIZE;5"),
    ],
)
def test_cmake_reports_wrong_arguments_at_configuration(arguments: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(x NONE)\nfind_package(memplan REQUIRED)\n"
        f"memplan_plan(arena {arguments})\n"
    )
    done = configure(tmp_path)
    assert done.returncode != 0
    assert sentence in " ".join(done.stderr.split())


def test_cmake_reports_a_missing_memplan_command(tmp_path: Path) -> None:
    script = tmp_path / "script.cmake"
    script.write_text(
        "cmake_minimum_required(VERSION 3.20)\nset(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)\n"
        f"set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)\ninclude({ROOT / 'cmake' / 'memplan-config.cmake'})\n"
        "memplan_plan(arena PROBLEM x.csv)\n"
    )
    done = cmake("-P", script)
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert "memplan_plan(arena): the command memplan was not found; set MEMPLAN_EXECUTABLE to its path" in said


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc")
def test_firmware_buffers_are_linked_at_the_planned_addresses(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "cmake" / "buffers.csv", tmp_path)
    (tmp_path / "problem.json").write_text(
        '{"buffers": [{"id": "image", "size": 512, "start": 0, "end": 2}, {"id": "conv1", "size": 256, "start": 1,'
        ' "end": 3}]}'
    )
    (tmp_path / "main.c").write_text(
        '#include "arena.h"\nvoid start(void);\nvoid start(void) { ARENA_ADDRESS_image[0] = 1; }\n'
    )
    (tmp_path / "whole.ld").write_text(
        "ENTRY(start)\nMEMORY { code : ORIGIN = 0x10000, LENGTH = 64K }\nSECTIONS { .text : { *(.text*) } > code }\n"
        "INCLUDE arena.ld\n"
    )
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(firmware C)\nfind_package(memplan REQUIRED)\n"
        "memplan_plan(arena PROBLEM problem.json LINKER_SCRIPT CAPACITY sram=4KiB@0x20000000)\n"
        "add_executable(firmware main.c)\n"
        "target_link_libraries(firmware PRIVATE arena)\n"
        "target_link_options(firmware PRIVATE -nostdlib -T ${CMAKE_SOURCE_DIR}/whole.ld)\n"
    )
    options = ("SYSTEM_NAME=Generic", "C_COMPILER=arm-none-eabi-gcc", "TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY")
    cpu = "-DCMAKE_C_FLAGS=-mcpu=cortex-m4 -mthumb"
    search = "-DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=BOTH"
    assert_success(configure(tmp_path, *(f"-DCMAKE_{option}" for option in options), cpu, search))
    assert_success(build(tmp_path))
    elf = Elf((tmp_path / "build" / "firmware").read_bytes())
    image, conv1 = (elf.symbols[f"arena_buffer_{name}"] for name in ("image", "conv1"))
    assert (image, conv1) == (0x20000000, 0x20000200)
