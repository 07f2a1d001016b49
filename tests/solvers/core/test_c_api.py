"""The C API of the core, in programs without Python: real, random and invalid problems."""

import csv
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from lab import known_plans
from memplan.api.cli.solvers.core import SOURCES
from memplan.solvers.core.build import HERE, library_of
from tests.checkers.checkers import answers
from tests.support import public_problems
from tests.support.compile_once import ONCE
from tests.support.depth import DEPTH

HAS_NONE = not shutil.which("g++") or not shutil.which("gcc")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(HAS_NONE, reason="there is no g++ and gcc")]
PROGRAMS = Path(__file__).parent
LIBRARY = library_of(HERE)
FACE = [HERE / name for name in SOURCES]
# Unoptimised, because compiling takes longer than running.
SANITIZED = ("-std=c++20", "-O0", "-g1", "-Wall", "-Wextra", "-Werror", "-DMEMPLAN_CHECKED", "-fno-sanitize-recover")
SANITIZERS = "-fsanitize=address,undefined,float-cast-overflow"


def run(*command: str | Path) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def sanitized_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the test programs, compiled with the address and undefined-behaviour sanitizers."""
    folder = tmp_path_factory.mktemp("sanitized")
    flags = [*SANITIZED, SANITIZERS, f"-I{HERE}"]
    programs = [PROGRAMS / f"{name}.cpp" for name in ("drawn", "fuzz", "certificates", "answers")]
    for source in (*FACE, *programs):
        run(*ONCE, "g++", *flags, "-c", source, "-o", folder / f"{source.stem}.o")
    for program in programs:
        objects = [folder / f"{source.stem}.o" for source in (*FACE, program)]
        run("g++", *flags, *objects, "-pthread", "-o", folder / program.stem)
    return folder


@pytest.fixture(scope="module")
def plan_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("face") / "plan_files"
    return link_program(made, "plan_files.c", "gcc", "-std=c99", "-D_POSIX_C_SOURCE=199309L", "-pedantic")


def link_program(made: Path, program: str, *compiler: str) -> Path:
    flags = ["-Wall", "-Wextra", "-Werror", f"-I{HERE}", f"-Wl,-rpath,{LIBRARY.parent}"]
    run(*compiler, *flags, PROGRAMS / program, LIBRARY, "-o", made)
    return made


def plan_by_program(plan_files: Path, work: int, seed: int, *files: Path) -> dict[str, list[str]]:
    printed = run(plan_files, str(work), str(seed), "1", *files)
    return {Path(row[0]).stem: row for row in csv.reader(printed.splitlines())}


def test_the_c_api_proves_public_problems_optimal_and_repeats_its_output(plan_files: Path) -> None:
    files = [file for folder in ("minimalloc", "xla", "tflite") for file in public_problems.files(folder)]
    found = plan_by_program(plan_files, 20_000, 0, *(file for file in files if file.suffix == ".csv"))
    peaks = {"A": 1048576, "C": 1039360, "E": 1048576, "F": 1048576, "H": 1048576, "K": 1048576}
    hard = {name[0]: row for name, row in found.items() if name.endswith(".1048576") and name[0] in peaks}
    assert len(hard) > 2
    assert {name: int(row[4]) for name, row in hard.items()} == {name: peaks[name] for name in hard}
    assert [name for name, row in found.items() if row[2] != "optimal" and name[0] not in "DJ"] == []
    again = plan_by_program(plan_files, 20_000, 0, *(file for file in files if file.stem in found))
    assert [row[-1] for row in again.values()] == [row[-1] for row in found.values()]


def test_the_c_api_proves_minimalloc_d_optimal_with_every_seed(plan_files: Path) -> None:
    (file,) = (file for file in public_problems.files("minimalloc") if file.stem.startswith("D"))
    for seed in range(3):
        (row,) = plan_by_program(plan_files, 500_000, seed, file).values()
        assert row[2:5] == ["optimal", "986112", "986112"]


def test_a_memory_choice_stopped_early_costs_at_most_half_more_than_its_later_bound(tmp_path: Path) -> None:
    made = link_program(tmp_path / "hurried", "hurried.cpp", "g++", "-std=c++20")
    first, hurried, late = ([int(word) for word in run(made, count).split()] for count in ("10", "20000", "100000"))
    assert [first[2], hurried[2], late[2]] == [1, 1, 1]
    assert first[1] == hurried[1] == 0
    assert late[0] < 1.02 * late[1]
    assert hurried[0] < 1.5 * late[1] < 0.8 * first[0]


def test_random_problems_of_every_kind_get_valid_plans_and_right_proofs_in_c(sanitized_folder: Path) -> None:
    run(sanitized_folder / "drawn", str(400 * DEPTH), "1", "2")


def test_all_plans_of_the_c_api_pass_its_check(sanitized_folder: Path) -> None:
    run(sanitized_folder / "answers", PROGRAMS / "answers.txt", str(300 * DEPTH))


@pytest.mark.parametrize("is_checked", [True, False])
def test_the_c_api_drops_wrong_plans_for_others(is_checked: bool, sanitized_folder: Path, tmp_path: Path) -> None:
    wrong = {
        "windows.hpp": ("return at <= highest ? at : kAbsent;", "return std::min(at, highest);"),
        "memplan.cpp": ("std::copy(whole.begin(), whole.end(), best_.offset.data);", "best_.offset.fill(0);"),
    }
    if not is_checked:
        wrong["choose.cpp"] = ("(seen.status != MEMPLAN_FEASIBLE)", "(false)")
    for source in (*HERE.glob("*.h*"), HERE / "memplan.cpp", HERE / "choose.cpp"):
        text, (before, after) = source.read_text(), wrong.get(source.name, ("", ""))
        assert before in text, source
        (tmp_path / source.name).write_text(text.replace(before, after))
    objects = [sanitized_folder / f"{name}.o" for name in ("search", "prices", "check", "certify", "answers")]
    for name in ("memplan", "choose"):
        objects.append(tmp_path / f"{name}.o")
        run(*ONCE, "g++", *SANITIZED, SANITIZERS, "-c", tmp_path / f"{name}.cpp", "-o", objects[-1])
    run("g++", SANITIZERS, *objects, "-o", tmp_path / "answers")
    command: list[str | Path] = [tmp_path / "answers", PROGRAMS / "answers.txt", "100"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) is is_checked, done.stdout[-2000:] + done.stderr[-2000:]


def test_checkers_accept_c_api_certificates_and_refuse_stronger_claims(sanitized_folder: Path, tmp_path: Path) -> None:
    problem, proof = tmp_path / "problem.json", tmp_path / "plan.proof"
    cases = run(sanitized_folder / "certificates", str(40 * DEPTH), "1").split("----\n")[:-1]
    assert len(cases) > 30 * DEPTH
    for case in cases:
        text, certificate = case.split("\n", 1)
        problem.write_text(text)
        proof.write_text(certificate)
        status, sentence = answers([problem, proof])
        assert status == 0, (sentence, case)
        claim, *lines = certificate.splitlines()[2:]
        if claim.startswith("used ") and lines:
            used = int(claim.split()[1])
            proof.write_text(certificate.replace(f"{used}\nclaim {used - 1}", f"{used + 1}\nclaim {used}"))
            assert answers([problem, proof])[0] == 3


@pytest.mark.drawn
def test_the_c_api_plans_and_proves_problems_whose_capacity_equals_their_peak(tmp_path: Path) -> None:
    run(link_program(tmp_path / "capacities", "capacities.cpp", "g++", "-std=c++20"), str(200 * DEPTH))


def test_the_c_api_refuses_random_invalid_input_with_its_row_and_rule(sanitized_folder: Path) -> None:
    run(sanitized_folder / "fuzz", str(20_000 * DEPTH), "0")


def test_the_c_api_checks_for_cancellation_while_preparing_a_certificate(tmp_path: Path) -> None:
    made = link_program(tmp_path / "questions", "questions.cpp", "g++", "-std=c++20")

    def run_certificates(*ends: str) -> dict[str, list[str]]:
        rows = csv.reader(run(made, "800", "1", *ends).splitlines())
        return {row[1]: row for row in rows if row[0] == "certify" and row[1] not in {"pins", "prices"}}

    assert len(found := run_certificates()) == 5
    assert min(int(row[2]) for row in found.values()) > 40
    assert {(int(row[2]), row[-1]) for row in run_certificates("25").values()} == {(25, "unknown")}


def test_the_c_api_places_problems_with_banks_pins_and_a_stack_or_proves_infeasibility(tmp_path: Path) -> None:
    made = link_program(tmp_path / "designs", "designs.cpp", "g++", "-std=c++20")
    said = [[int(word) for word in line.split() if word.isdigit()] for line in run(made, "200", "1").splitlines()]
    assert said[0] == [200, 0]
    assert min(said[1]) > 40


@pytest.mark.deep
def test_concurrent_threads_of_the_core_do_not_interfere(tmp_path: Path) -> None:
    sources = [*FACE, PROGRAMS / "drawn.cpp"]
    run("g++", *SANITIZED, "-fsanitize=thread", f"-I{HERE}", *sources, "-pthread", "-o", tmp_path / "drawn")
    run(tmp_path / "drawn", str(100 * DEPTH), "100000", "8")


@pytest.mark.drawn
def test_answers_to_drawn_problems_with_a_known_plan_are_valid_and_never_contradict_this_plan() -> None:
    tally, seeds = Counter[str](), (*range(300), 107603)  # the last one ends while a part of a problem is searched
    assert [line for seed in seeds for line in known_plans.faults(seed, tally, every=10)] == []
    assert sum(count for kind, count in tally.items() if kind.startswith("memplan_")) == len(seeds)


def test_the_check_of_the_c_api_reports_every_violated_rule_with_its_row(tmp_path: Path) -> None:
    run(link_program(tmp_path / "rules", "rules.c", "gcc", "-std=c99"))


def test_the_cpp_wrapper_plans_checks_and_refuses_input_given_as_spans(tmp_path: Path) -> None:
    run(link_program(tmp_path / "spans", "spans.cpp", "g++", "-std=c++20"))


@pytest.mark.parametrize(
    ("compiler", "standard"),
    [
        *(("gcc", each) for each in ("c99", "c11", "c17")),
        *(("g++", each) for each in ("c++11", "c++17", "c++20")),
        ("arm-none-eabi-gcc", "c99"),
    ],
)
def test_the_c_header_compiles_without_warnings(compiler: str, standard: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    program = tmp_path / ("program.cpp" if standard.startswith("c++") else "program.c")
    body = "int main(void) { memplan_result result; return (int)sizeof(result) & 0; }"
    program.write_text(f'#include "memplan.h"\n{body}\n')
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
    run(compiler, f"-std={standard}", *strict, f"-I{HERE}", "-c", program, "-o", tmp_path / "program.o")
