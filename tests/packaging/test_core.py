"""The C++ core that programs link: the programs of docs/core.md, its installation, and adapters, compiled and run."""

import csv
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from memplan import Problem, solve
from memplan.api.cli.main import main
from memplan.api.cli.solvers.core import SOURCES
from memplan.planner import __version__
from memplan.planner.foreign.reading import read_model
from memplan.runtimes.tflite.model import OFFLINE_PLAN
from memplan.runtimes.tflite.model import read_model as read_tensors
from memplan.runtimes.tflite.tflm import set_metadata
from tests.support.compile_once import ONCE
from tests.support.depth import DEPTH, seeds

ROOT = Path(__file__).parents[2]
CORE = ROOT / "solvers" / "core"
ADAPTERS = ROOT / "examples" / "core"
PROGRAMS = Path(__file__).parent / "core"
KEYWORDS = ROOT / "tests" / "models" / "recorded" / "kws_dscnn_int8.tflite"
PAGE = (ROOT / "docs" / "core.md").read_text(encoding="utf-8")
FLAGS = re.findall(r"-std=c\+\+20[^\n]*?-fno-rtti", PAGE)[0].split()
WATCHED = ("-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover")
DRAWN = ROOT / "tests" / "solvers" / "core"
TWO = "602112 bytes"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("c++") is None or shutil.which("cc") is None, reason="needs compilers"),
]


def run(*command: str | Path, text: str = "") -> str:
    done = subprocess.run([*map(str, command)], input=text, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def linked_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of `memplan core -o`, compiled as docs/core.md describes."""
    folder = tmp_path_factory.mktemp("core")
    assert main(["core", "-o", str(folder)]) == 0
    level = () if DEPTH > 1 else ("-O1",)  # -O2 takes twice as long for one large file
    strict = (*level, "-Wall", "-Wextra", "-Werror")
    run(*ONCE, "c++", *FLAGS, *strict, "-c", folder / "memplan.cpp", "-o", folder / "memplan.o")
    return folder


def compile_program(linked: Path, *sources: Path, flags: tuple[str, ...] = ()) -> Path:
    exe = linked / sources[0].stem
    include = (f"-I{linked}", f"-I{ADAPTERS}", f"-I{CORE}")
    run("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", *flags, *include, *sources, linked / "memplan.o", "-o", exe)
    return exe


def code_block(language: str, number: int = 0) -> str:
    return str(re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[number])


def test_the_command_core_prints_the_folder_of_its_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["core", "--where"]) == 0
    where = Path(capsys.readouterr().out.strip())
    assert (where / "memplan.h").exists()
    assert f"VERSION {__version__}" in (where / "CMakeLists.txt").read_text()
    number = sum(int(part) * 1_000**k for k, part in enumerate(reversed(re.findall(r"\d+", __version__))))
    assert f"#define MEMPLAN_VERSION {number} " in (where / "memplan.h").read_text()
    assert f'return "{__version__}"' in (where / "memplan.cpp").read_text()
    assert main(["core"]) == 2


def test_the_documented_c_program_links_with_only_the_c_library(linked_folder: Path) -> None:
    (linked_folder / "main.c").write_text(code_block("c"))
    files = (linked_folder / "main.c", linked_folder / "memplan.o", "-o", linked_folder / "main")
    run("cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{linked_folder}", *files)
    assert run(linked_folder / "main") == f"{TWO}, at least 602112\n"


def test_sources_of_the_core_state_their_licence(linked_folder: Path) -> None:
    for file in (linked_folder / "memplan.h", linked_folder / "memplan.cpp", CORE / "memplan.hpp"):
        assert "SPDX-License-Identifier: Apache-2.0" in file.read_text().splitlines()[0]


@pytest.fixture(scope="module")
def sanitized_planner(linked_folder: Path) -> Path:
    """Return the core's object file, compiled with the address and undefined-behaviour sanitizers."""
    made = linked_folder / "watched.o"
    run(*ONCE, "c++", *FLAGS, "-O0", *WATCHED, "-c", linked_folder / "memplan.cpp", "-o", made)
    return made


@pytest.mark.parametrize("compiler", [("cc", "-std=c11", "-pedantic"), ("c++", "-x", "c++", "-std=c++17")])
def test_the_documented_program_that_chooses_memories_prints_the_documented_output(
    linked_folder: Path, sanitized_planner: Path, compiler: tuple[str, ...]
) -> None:
    (linked_folder / "choose.c").write_text(code_block("c", 1))
    run(*compiler, *WATCHED, f"-I{linked_folder}", "-c", linked_folder / "choose.c", "-o", linked_folder / "choose.o")
    run("c++", *WATCHED, linked_folder / "choose.o", sanitized_planner, "-o", linked_folder / "choose")
    assert f"```\n{run(linked_folder / 'choose')}```" in PAGE


def test_memory_choices_of_the_core_pass_and_match_brute_force(linked_folder: Path, sanitized_planner: Path) -> None:
    include = (f"-I{linked_folder}", f"-I{CORE}", f"-I{DRAWN}")
    sources = (PROGRAMS / "choices.cpp", sanitized_planner)
    run("c++", "-std=c++20", *WATCHED, *include, *sources, "-o", linked_folder / "choices")
    fits, least, proved, none, explained = map(int, run(linked_folder / "choices", str(400 * DEPTH), "1").split())
    assert 0 < proved <= least <= fits < 1.1 * least
    assert 0 < explained <= none


def test_the_core_reports_row_and_rule_of_wrong_memory_choices(linked_folder: Path, sanitized_planner: Path) -> None:
    program = linked_folder / "homes"
    sources = (PROGRAMS / "homes.c", sanitized_planner)
    run("cc", "-std=c11", *WATCHED, f"-I{linked_folder}", "-c", sources[0], "-o", linked_folder / "homes.o")
    run("c++", *WATCHED, linked_folder / "homes.o", *sources[1:], "-o", program)
    run(program)


def test_a_c_program_plans_csv_files_with_the_core(linked_folder: Path) -> None:
    program, file = linked_folder / "plan_csv", linked_folder / "two.csv"
    pedantic = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
    run("cc", *pedantic, f"-I{linked_folder}", ADAPTERS / "plan_csv.c", linked_folder / "memplan.o", "-o", program)
    network = ROOT / "examples" / "mobilenet_v2.csv"
    first, *rows = run(program, network).splitlines()
    with network.open() as source:
        sizes = {(row["lower"], row["upper"], row["size"]) for row in csv.DictReader(source)}
    assert (first, len(rows)) == ("optimal: 1505280 bytes, at least 1505280", 66)
    assert {tuple(row.split(",")[:3]) for row in rows} == sizes
    file.write_text(
        "buffer,start,end,size,offset\na,0,3,5,\nb,3,4,6,0\n"
    )  # inclusive ends: the last step of one buffer is the first of the other
    assert run(program, file).splitlines() == ["optimal: 11 bytes, at least 11", "0,4,5,6", "3,5,6,0"]
    done = subprocess.run([program, file, "0"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("the capacity must not be 0")) == (1, 1)
    file.write_text("id,lower,upper,size,gaps\na,0,3,5,1-2\n")
    done = subprocess.run([program, file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, f'{file}: the column "gaps" is not known\n')


def test_the_documented_cpp_program_plans(linked_folder: Path) -> None:
    (linked_folder / "spans.cpp").write_text(code_block("cpp"))
    assert run(compile_program(linked_folder, linked_folder / "spans.cpp")) == "200704\n"
    assert len((CORE / "memplan.hpp").read_text().splitlines()) < 150


@pytest.mark.skipif(shutil.which("rustc") is None, reason="needs rustc")
def test_a_rust_program_links_the_core(linked_folder: Path) -> None:
    run("ar", "rcs", linked_folder / "libmemplan.a", linked_folder / "memplan.o")
    run("rustc", ADAPTERS / "main.rs", "-L", linked_folder, "-lstatic=memplan", "-o", linked_folder / "rust")
    assert run(linked_folder / "rust") == f"{TWO} at [0, 401408]\n"


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_cmake_builds_the_core_optimised_by_default(tmp_path: Path) -> None:
    run("cmake", "-S", CORE, "-B", tmp_path, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    assert (tmp_path / "compile_commands.json").read_text().count(" -O2 ") == len(SOURCES)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_cmake_uses_the_core_installed_from_sources_or_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = tmp_path / "prefix"
    # Unoptimised and cached, because compiling dominates; unoptimised square roots are function calls.
    monkeypatch.setenv("CMAKE_CXX_COMPILER_LAUNCHER", ";".join(ONCE))
    places = f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_INSTALL_LIBDIR=lib"
    kind = "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0"
    run("cmake", "-S", CORE, "-B", tmp_path / "lib", *places, *kind)
    run("cmake", "--build", tmp_path / "lib")
    run("cmake", "--install", tmp_path / "lib")
    shows = re.findall(r'python -c "(import memplan.*?)"`', (ROOT / "docs" / "builds.md").read_text())
    package = run(
        sys.executable, "-c", *shows
    ).strip()  # the CMake package in this checkout, as in an editable installation
    fetched = f"include(FetchContent)\nFetchContent_Declare(memplan SOURCE_DIR {ROOT} SOURCE_SUBDIR solvers/core)\n"
    ways = {
        "installed": ("C", "find_package(memplan REQUIRED)", (f"-Dmemplan_DIR={prefix}/lib/cmake/memplan",)),
        "sources": ("C CXX", "find_package(memplan REQUIRED)", (f"-Dmemplan_DIR={package}",)),
        "fetched": ("C CXX", f"{fetched}FetchContent_MakeAvailable(memplan)", ()),
    }
    for way, (languages, found, options) in ways.items():
        folder = tmp_path / way
        folder.mkdir()
        (folder / "main.c").write_text(code_block("c"))
        (folder / "spans.cpp").write_text(code_block("cpp"))
        (folder / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.20)\nproject(main {languages})\n{found}\n"
            "add_executable(main main.c)\ntarget_link_libraries(main PRIVATE memplan::memplan)\n"
            "if(CMAKE_CXX_COMPILER)\n  add_executable(spans spans.cpp)\n"
            "  target_link_libraries(spans PRIVATE memplan::memplan)\nendif()\n"
        )
        run("cmake", "-S", folder, "-B", folder / "build", *kind, *options)
        run("cmake", "--build", folder / "build", "--target", "main")
        assert TWO in run(folder / "build" / "main")
        if "CXX" in languages:  # compiles with the compiler's default standard, which may be C++17
            run("cmake", "--build", folder / "build", "--target", "spans")
            assert run(folder / "build" / "spans") == "200704\n"
    if shutil.which("pkg-config") is not None:
        wanted = ["pkg-config", "--cflags", "--libs", "memplan"]
        where = os.environ | {"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}
        flags = subprocess.run(wanted, env=where, capture_output=True, text=True, check=True).stdout.split()
        run("cc", tmp_path / "installed" / "main.c", *flags, "-o", tmp_path / "by_pkg_config")
        assert TWO in run(tmp_path / "by_pkg_config")


def test_adapters_have_at_most_150_lines() -> None:
    lines = {path.name: len(path.read_text().splitlines()) for path in ADAPTERS.iterdir() if path.is_file()}
    assert {name: count for name, count in lines.items() if count > 150} == {}


@pytest.mark.drawn
def test_the_llvm_example_places_all_allocations_and_reaches_the_peak_of_solve(linked_folder: Path) -> None:
    program = compile_program(linked_folder, PROGRAMS / "llvm.cpp", ADAPTERS / "llvm_planner.cpp")
    for seed in seeds(10):
        rng = random.Random(seed)
        rows = []
        for _ in range(rng.randint(1, 30)):
            start = rng.randint(0, 20)
            rows.append((rng.randint(1, 900), rng.choice([1, 16, 64]), start, start + rng.randint(0, 6)))
        said = run(program, text="64\n" + "".join(f"{' '.join(map(str, row))}\n" for row in rows))
        offsets = [int(line) for line in said.split()]
        assert all(offset % row[1] == 0 for offset, row in zip(offsets, rows, strict=True))
        buffers = [
            {"id": i, "size": size, "alignment": alignment, "start": start, "end": max(end, start + 1)}
            for i, (size, alignment, start, end) in enumerate(rows)
        ]
        fixed = [row | {"offset": offset} for row, offset in zip(buffers, offsets, strict=True)]
        # Pinned buffers that overlap while alive together must be refused.
        assert solve(Problem(buffers=fixed)).peak == solve(Problem(buffers=buffers), deterministic=True).peak, seed


def test_the_minimalloc_example_writes_its_solution_and_reports_infeasibility(linked_folder: Path) -> None:
    program = compile_program(linked_folder, ADAPTERS / "minimalloc.cpp", flags=("-DMINIMALLOC_MAIN",))
    problem, solution = ROOT / "examples/problems/minimalloc/A.1048576.csv", linked_folder / "solution.csv"
    run(program, "--capacity=1048576", f"--input={problem}", f"--output={solution}", "--validate", "--timeout", "20s")
    with solution.open() as file:
        rows = list(csv.DictReader(file))
    fixed = [{"id": row["id"], "start": row["lower"], "end": row["upper"]} | row for row in rows]
    columns = ("size", "start", "end", "offset")
    buffers = [{"id": row["id"], **{name: int(row[name]) for name in columns}} for row in fixed]
    assert solve(Problem(buffers=buffers, pools=[{"name": "pool", "size": 1048576}])).peak == 1048576
    command = [str(program), "--capacity=1048575", f"--input={problem}", f"--output={solution}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, "NOT_FOUND: nothing fits\n")


def test_the_pypto_adapter_plans_its_features_and_reports_infeasible_and_unsupported(linked_folder: Path) -> None:
    program = compile_program(linked_folder, PROGRAMS / "pypto.cpp", ADAPTERS / "pypto.cpp")
    said = {line.split()[0]: [*map(int, line.split()[1:])] for line in run(program).splitlines()}
    feasible, infeasible, unsupported = 0, 1, 4
    assert (said["lives"][:3], said["separation"][:2]) == ([feasible, 96, 0], [feasible, 128])
    assert (said["capacity"][0], said["colocation"]) == (infeasible, [feasible, 96, 0, 32, 32, 0])
    assert (said["penalty"][:3], said["penalty-paid"][:3]) == ([feasible, 160, 0], [feasible, 128, 7])
    assert said["banks"][0] == unsupported


def test_a_model_runs_with_a_plan_of_two_arenas(linked_folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    runtime = pytest.importorskip("tflite_micro", reason="needs tflite_micro").runtime
    program = compile_program(linked_folder, PROGRAMS / "tflm.cpp", ADAPTERS / "tflm_planner.cpp")
    data, fast = KEYWORDS.read_bytes(), 8800
    rows = list(read_model(data).problem.buffers)
    text = "".join(f"{row.size} {row.start} {row.end - 1}\n" for row in rows if row.start is not None and row.end)
    offsets = [int(line) for line in run(program, text=f"{fast}\n{text}").split()]
    slow = [row for row, offset in zip(rows, offsets, strict=True) if offset >= fast]
    assert {row.size for row in slow} == {8000}
    assert len(slow) < len([row for row in rows if row.size == 8000])
    assert all(at >= fast or at + row.size <= fast for at, row in zip(offsets, rows, strict=True))
    places = {str(row.id).removeprefix("main/"): at for row, at in zip(rows, offsets, strict=True)}
    planned = [places.get(str(tensor.id), -1) for tensor in read_tensors(data).tensors]
    content = struct.pack(f"<{3 + len(planned)}i", 0, 1, len(planned), *planned)

    def result(model: bytes) -> bytes:
        interpreter = runtime.Interpreter.from_bytes(model, arena_size=1 << 20)
        about = interpreter.get_input_details(0)
        interpreter.set_input(np.arange(np.prod(about["shape"])).reshape(about["shape"]).astype(about["dtype"]), 0)
        interpreter.invoke()
        return bytes(interpreter.get_output(0).tobytes())

    assert result(set_metadata(data, OFFLINE_PLAN, content)) == result(data)
    capfd.readouterr()


@pytest.mark.skipif(find_spec("omnimalloc") is None, reason="needs omnimalloc")
def test_the_omnimalloc_allocator_keeps_pins_and_reaches_the_peak_of_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ADAPTERS))
    program = """
from omnimalloc import Allocation, allocate
from omnimalloc_allocator import MemplanAllocator
rows = [Allocation("a", 40, 0, 3), Allocation("b", 20, 2, 5, 0), Allocation("c", 40, 3, 6), Allocation("d", 7, 0, 1)]
print([row.offset for row in allocate(rows, MemplanAllocator())])
"""
    where = os.environ | {"PYTHONPATH": f"{ADAPTERS}{os.pathsep}{ROOT}"}
    done = subprocess.run([sys.executable, "-c", program], env=where, capture_output=True, text=True, check=True)
    offsets = json.loads(done.stdout)
    assert offsets[1] == 0
    assert max(offsets[0] + 40, offsets[2] + 40) == 60
