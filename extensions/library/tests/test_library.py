"""Tests of the library: verdicts on submissions, findings of the check, and outcomes of planner runs."""

import json
import re
import shlex
from pathlib import Path
from zipfile import ZipFile

import pytest

from memplan.api.cli.commands import make_command
from memplan.extensions.bench.results import open_for_appending, read_results, write_result
from memplan.extensions.bench.summary import Summary, text_report
from memplan.extensions.library.archives import ARCHIVE, pack_archive, unpack, write_file
from memplan.extensions.library.checking import check, version_fault
from memplan.extensions.library.entries import Entry, ProblemLibrary
from memplan.extensions.library.fingerprints import features, fingerprint
from memplan.extensions.library.running import Planner, run, word_of
from memplan.extensions.library.submitting import Finder, submit
from memplan.planner.errors import FormatError, OptionError

ROOT = Path(__file__).parents[3]
LIBRARY = ProblemLibrary(ROOT / "library")
TABLE = b"id,lower,upper,size\na,0,2,4\nb,1,3,4\nc,2,4,4\n"
GRAPH = {"size": [4, 8, 2], "kept": [2], "ops": [{"out": [0]}, {"out": [1]}, {"in": [0, 1], "out": [2]}]}
BEST = b"id,offset\na,0\nb,4\nc,0\n"
PROOF = b"memplan-lemmas/1\nsizes -\nused 8\nclaim 7\nset time 1\nend @0\n"
NOTHING_FITS = b"memplan-lemmas/1\nsizes 7\ninfeasible\nclaim 7\nset time 1\nend @0\n"
FINDER = Finder("somebody", "by hand")


def entry_of(kind: str, data: bytes, name: str = "three", limit: int | None = None) -> Entry:
    end = "csv" if data.startswith(b"id") else "json"
    given = {"fingerprint": fingerprint(kind, data, f"x.{end}", limit), "features": features(kind, data, f"x.{end}")}
    fields = {"name": name, "kind": kind, "problem": end, "source": "here", "origin": "here", "limit": limit}
    return Entry.model_validate({**fields, **given})


@pytest.fixture
def library(tmp_path: Path) -> ProblemLibrary:
    found = ProblemLibrary(tmp_path / "library")
    for kind, data, name, limit in (
        ("peak", TABLE, "three", None),
        ("fit", TABLE, "seven", 7),
        ("order", json.dumps(GRAPH).encode(), "graph", None),
    ):
        entry = entry_of(kind, data, name, limit)
        write_file(found.problem(entry), data)
        found.put(entry)
    return found


def single_entry(library: ProblemLibrary, name: str) -> Entry:
    (found,) = library.select([name])
    return found


@pytest.mark.parametrize(
    ("name", "before", "data", "word", "reason"),
    [
        ("three", [], BEST, "better, added", "it has 8, none was known"),
        ("three", [b"id,offset\na,0\nb,4\nc,8\n"], BEST, "better, added", "it has 8, 12 was known"),
        ("three", [BEST], BEST, "not better", "it has 8, 8 is known"),
        ("three", [], b"id,offset\na,0\nb,3\nc,0\n", "refused", "buffers 'a' and 'b' must not share bytes"),
        ("three", [], b"id,offset\na,0\nb,4\n", "refused", "buffer 'c' must have a placement"),
        ("three", [], b"# a plan\n", "wrong format", "a table must have the columns id and offset"),
        ("three", [], b"\xff", "wrong format", "utf-8"),
        ("three", [BEST, PROOF], PROOF, "not better", "no plan has less than 8: that is known"),
        ("three", [], PROOF, "better, added", "no plan has less than 8"),
        ("three", [], PROOF.replace(b"8", b"9").replace(b"7", b"8"), "refused", "must refute"),
        ("seven", [], NOTHING_FITS, "better, added", "nothing fits"),
        ("seven", [], PROOF.replace(b"sizes -", b"sizes 7"), "refused", "must claim that no plan fits"),
        ("seven", [NOTHING_FITS], NOTHING_FITS, "not better", "that is known"),
        ("graph", [], b"[1, 0, 2]", "better, added", "it has 14, none was known"),
        ("graph", [], b"[2, 0, 1]", "refused", "operation 2 must run after operation 0"),
        ("graph", [], PROOF, "refused", "must have the format"),
    ],
)
def test_a_submission_gets_one_of_four_verdicts(
    library: ProblemLibrary, name: str, before: list[bytes], data: bytes, word: str, reason: str
) -> None:
    for text in before:
        assert submit(library, single_entry(library, name), text, FINDER).word == "better, added"
    verdict = submit(library, single_entry(library, name), data, FINDER)
    assert verdict.word == word
    assert reason in verdict.reason


def test_an_added_plan_with_a_certificate_is_proved_and_passes_the_check(library: ProblemLibrary) -> None:
    for name, data in (("three", BEST), ("seven", NOTHING_FITS), ("graph", b"[0, 1, 2]")):
        submit(library, single_entry(library, name), data, FINDER)
    proved = {entry.name: (entry.status, entry.by) for entry in library.entries()}
    assert proved == dict.fromkeys(("three", "seven", "graph"), ("proved", "somebody"))
    assert [faults for _, faults in check(library, library.entries())] == [[], [], []]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"fingerprint": "0"}, "the recorded fingerprint differs from that of the file"),
        ({"best": 7}, "its plan has the value 8, not 7"),
        ({"bound": 9}, "its bound has no certificate"),
        ({"is_infeasible": True}, "its bound has no certificate"),
    ],
)
def test_check_reports_each_fault_in_a_table(library: ProblemLibrary, change: dict[str, object], fault: str) -> None:
    submit(library, single_entry(library, "three"), BEST, FINDER)
    library.put(single_entry(library, "three").model_copy(update=change))
    assert fault in {entry.name: faults for entry, faults in check(library, library.entries("peak"))}["three"]


def test_fingerprints_depend_on_everything_except_names_and_order() -> None:
    other = b"id,lower,upper,size\nx,2,4,4\ny,0,2,4\nz,1,3,4\n"
    assert entry_of("peak", other).fingerprint == entry_of("peak", TABLE).fingerprint
    assert entry_of("peak", other.replace(b"z,1,3,4", b"z,1,3,5")).fingerprint != entry_of("peak", TABLE).fingerprint
    turned = {"size": [8, 2, 4], "kept": [1], "ops": [{"out": [0]}, {"out": [2]}, {"in": [2, 0], "out": [1]}]}
    graphs = [entry_of("order", json.dumps(each).encode()).fingerprint for each in (GRAPH, turned)]
    assert graphs[0] == graphs[1]
    assert entry_of("order", json.dumps({**GRAPH, "kept": []}).encode()).fingerprint != graphs[0]


@pytest.mark.parametrize(
    ("script", "name", "outcome", "value"),
    [
        ("cp {known} {out}", "three", "optimal", 8),
        ("printf 'id,offset\\na,0\\nb,4\\nc,8\\n' > {out}", "three", "feasible", 12),
        ("printf 'id,offset\\na,0\\nb,1\\nc,8\\n' > {out}", "three", "invalid", None),
        ("exit 1", "seven", "none", None),
        ("echo '[]' > {out}; exit 1", "seven", "none", None),
        ("exit 1", "three", "invalid", None),
        ("exit 2", "three", "failed", None),
        ("true", "three", "none", None),
    ],
)
def test_outcome_of_a_run_follows_from_its_plan_and_exit_status(
    library: ProblemLibrary, tmp_path: Path, script: str, name: str, outcome: str, value: float | None
) -> None:
    for problem, data in (("three", BEST), ("three", PROOF), ("seven", NOTHING_FITS)):
        submit(library, single_entry(library, problem), data, FINDER)
    program = tmp_path / "planner"
    known = library.plan(single_entry(library, "three")).resolve()
    program.write_text("#!/bin/sh\n" + script.replace("{known}", str(known)).replace("{out}", '"$2"') + "\n")
    program.chmod(0o755)
    planner = Planner("mine", f"{program} {{problem}} {{out}}", infeasible_status=1)
    made = run(library, [single_entry(library, name)], planner, 5.0, tmp_path / "better")
    with open_for_appending(tmp_path / "rows.jsonl") as (_, file):
        for row in made:
            write_result(file, row)
    rows = read_results(tmp_path / "rows.jsonl")
    assert [(word_of(row), row.peak) for row in rows] == [(outcome, value)]
    summary = Summary(rows)
    is_solved = outcome == "optimal" or rows[0].status == "infeasible"
    assert summary.lines()[0].par2_s == (rows[0].wall_time_s if is_solved else 10.0)
    assert "mine" in text_report(summary)


def test_a_run_keeps_a_plan_better_than_the_best_known(library: ProblemLibrary, tmp_path: Path) -> None:
    submit(library, single_entry(library, "three"), b"id,offset\na,0\nb,4\nc,8\n", FINDER)
    known = tmp_path / "known"
    known.write_bytes(BEST)
    planner = Planner("mine", f"cp {known} {{out}}")
    (row,) = run(library, [single_entry(library, "three")], planner, 5.0, tmp_path / "better")
    (kept,) = (tmp_path / "better").iterdir()
    assert (word_of(row), row.message) == ("better", f"12 was known; submit {kept}")
    assert submit(library, single_entry(library, "three"), kept.read_bytes(), FINDER).word == "better, added"


def test_planner_with_a_capacity_placeholder_skips_problems_without_a_capacity(library: ProblemLibrary) -> None:
    words = Planner("", "{kind} {limit} {capacity}").line(single_entry(library, "seven"), Path(), Path(), 1.0)
    assert words == ["fit", "7", "7"]
    asks, asks_not = Planner("", "x {capacity}"), Planner("", "x {limit}")
    assert [asks.suits(single_entry(library, name)) for name in ("three", "seven")] == [False, True]
    assert asks_not.suits(single_entry(library, "three"))
    submit(library, single_entry(library, "three"), BEST, FINDER)
    assert asks.suits(single_entry(library, "three"))


def test_select_finds_problems_by_group_kind_and_name(library: ProblemLibrary) -> None:
    (library.folder / "benchmark.txt").write_text("three\ngraph\n")
    for words, names in (
        (["benchmark"], ["graph", "three"]),
        (["benchmark/order", "fit"], ["seven", "graph"]),
        ([], ["seven", "graph", "three"]),
    ):
        assert [entry.name for entry in library.select(words)] == names
    with pytest.raises(OptionError, match=r"open, also as GROUP/KIND\), got "):
        library.select(["benchmark/fit"])


def test_value_of_a_problem_with_prices_is_the_cost_of_its_best_plan(tmp_path: Path) -> None:
    rows = [{"id": name, "size": 4, "start": k, "end": k + 1} for k, name in enumerate("abc")]
    reuse = [{"pairs": [["a", "b"], ["b", "c"]], "cost": 3}, {"pairs": [["a", "c"]], "cost": 5}]
    problem = {"buffers": rows, "reuse": reuse}
    data = json.dumps(problem | {"pools": [{"name": "ub", "size": 8}], "objective": "cost"}).encode()
    library = ProblemLibrary(tmp_path)
    entry = entry_of("reuse", data)
    write_file(library.problem(entry), data)
    library.put(entry)
    words = []
    for offsets in ((0, 0, 0), (0, 4, 0), (0, 2, 4), (0, 4, 4)):
        text = json.dumps([[name, "ub", at] for name, at in zip("abc", offsets, strict=True)])
        verdict = submit(library, single_entry(library, "three"), text.encode(), FINDER)
        words.append((verdict.word, verdict.entry.best))
    assert words == [("better, added", 11), ("better, added", 5), ("not better", 5), ("better, added", 3)]


def test_the_version_does_not_match_after_a_problem_is_changed(library: ProblemLibrary) -> None:
    assert version_fault(library) is None
    (library.folder / "LIBRARY_VERSION").write_text(f"1.0 {library.digest()}\n")
    submit(library, single_entry(library, "three"), BEST, FINDER)
    assert version_fault(library) is None
    library.put(single_entry(library, "seven").model_copy(update={"limit": 6}))
    assert "LIBRARY_VERSION: 1.0 sha256:" in str(version_fault(library))


def test_each_problem_is_easy_hard_or_open(library: ProblemLibrary) -> None:
    (library.folder / "easy.txt").write_text("three\ngraph\n")
    submit(library, single_entry(library, "three"), BEST, FINDER)
    submit(library, single_entry(library, "seven"), NOTHING_FITS, FINDER)
    parts = {word: [entry.name for entry in library.select([word])] for word in ("easy", "hard/fit", "open")}
    assert parts == {"easy": ["three"], "hard/fit": ["seven"], "open": ["graph"]}


def test_files_are_compressed_when_added_and_extracted_unchanged(library: ProblemLibrary, tmp_path: Path) -> None:
    submit(library, single_entry(library, "three"), BEST, FINDER)
    here, there = library.folder / "peak", tmp_path / "elsewhere"
    there.mkdir()
    (there / ARCHIVE).write_bytes((here / ARCHIVE).read_bytes())
    unpack(there)
    files = {"problems/three.csv": TABLE, "plans/three.csv": BEST}
    assert {name: (there / name).read_bytes() for name in files} == files
    assert (here / ARCHIVE).read_bytes() == pack_archive(files) == pack_archive(dict(reversed(files.items())))
    assert library.pack() == []
    (there / "plans" / "three.csv").unlink()
    unpack(there)
    assert (there / "plans" / "three.csv").read_bytes() == BEST


def test_a_new_archive_replaces_only_the_files_of_the_previous_one(tmp_path: Path) -> None:
    (tmp_path / ARCHIVE).write_bytes(pack_archive({"plans/a.csv": b"1", "plans/b.csv": b"2"}))
    unpack(tmp_path)
    (tmp_path / "plans" / "mine.csv").write_bytes(b"3")
    (tmp_path / ARCHIVE).write_bytes(pack_archive({"plans/a.csv": b"4"}))
    unpack(tmp_path)
    assert {one.name: one.read_bytes() for one in (tmp_path / "plans").iterdir()} == {"a.csv": b"4", "mine.csv": b"3"}


@pytest.mark.parametrize(
    "name", ["../a.csv", "plans/../../a.csv", "other/a.csv", "a.csv", "plans/", "plans\\..\\a.csv"]
)
def test_an_archive_with_a_file_outside_its_folders_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / ARCHIVE).write_bytes(pack_archive({name: b""}))
    with pytest.raises(FormatError, match="must contain only files in plans, problems, proofs"):
        unpack(tmp_path)
    (tmp_path / ARCHIVE).write_bytes(b"PK")
    with pytest.raises(FormatError, match="must be a ZIP file"):
        unpack(tmp_path)


def test_archives_of_the_checkout_contain_the_files_of_their_tables_and_repack_unchanged(tmp_path: Path) -> None:
    for kind in LIBRARY.kinds():
        with ZipFile(LIBRARY.folder / kind / ARCHIVE) as members:
            files = {name: members.read(name) for name in members.namelist()}
            about = {(each.date_time, each.external_attr >> 16) for each in members.infolist()}
        assert about == {((1980, 1, 1, 0, 0, 0), 0o644)}
        assert [*files] == sorted(files)
        names = {entry.name for entry in LIBRARY.entries(kind)}
        assert {Path(name).stem for name in files if name.startswith("problems/")} == names
        assert {Path(name).stem for name in files} == names
        (tmp_path / ARCHIVE).write_bytes(pack_archive(files))
        with ZipFile(tmp_path / ARCHIVE) as again:
            assert {name: again.read(name) for name in again.namelist()} == files


def test_the_committed_library_matches_its_version() -> None:
    assert version_fault(LIBRARY) is None
    assert f'version: "{LIBRARY.version()}"' in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_best_plan_has_a_finder_a_day_and_a_valid_memplan_command() -> None:
    lines = set()
    for entry in LIBRARY.entries():
        if entry.best is not None or entry.is_infeasible:
            assert entry.by, entry.name
            assert entry.on, entry.name
            assert entry.command, entry.name
            lines.add(entry.command.partition(", ")[0])
    for line in {re.sub(r"library/\S+|\d+", "1", line) for line in lines}:
        program, verb, *words = shlex.split(line)
        assert program == "memplan"
        make_command(verb).make_context(verb, words)
