"""Tests of the input files that checkers accept and refuse, as docs/certificates.md defines them."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from memplan import solve
from memplan.planner.errors import InputError
from memplan.planner.formats import FORMATS
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.certify import certify
from tests.checkers.checkers import answers

PAIR = [{"id": "a", "size": 4, "start": 0, "end": 2}, {"id": "b", "size": 4, "start": 1, "end": 3}]
FITS_NOT = "memplan-lemmas/1\nsizes 7\ninfeasible\nclaim 7\nset time 1\nend @0\n"


def status(folder: Path, problem: str | bytes, proof: str, *options: str) -> int:
    return run_checker(folder, problem, proof, *options)[0]


def run_checker(folder: Path, problem: str | bytes, proof: str, *options: str) -> tuple[int, str]:
    flags, sizes = [each for each in options if each[:2] == "--"], [each for each in options if each[:2] != "--"]
    files = folder / "problem", folder / "proof"
    files[0].write_bytes(problem if isinstance(problem, bytes) else problem.encode())
    files[1].write_text(proof, encoding="utf-8")
    return answers([*flags, *files, *sizes])


def problem(*rows: dict[str, Any], **fields: Any) -> str:
    return json.dumps({"buffers": [*rows], "pools": [{"size": 7}], **fields})


def test_checkers_use_the_pool_sizes_in_a_certificate_for_a_csv_table(tmp_path: Path) -> None:
    table = "id,lower,upper,size\na,0,1,20\nb,0,1,10\n"
    false = "memplan-lemmas/1\nsizes 10 20\ninfeasible\nclaim 10 20\nset time 0\nend @0:1:0:2\n"
    assert status(tmp_path, table, false) == 3
    assert status(tmp_path, table, false.replace("10 20", "10 19").replace(":2\n", ":3\n")) == 0


def test_checkers_print_the_proved_claim_with_capacities_and_the_hash_of_the_problem(tmp_path: Path) -> None:
    table = "id,lower,upper,size\na,0,1,20\nb,0,1,10\n"
    proof = "memplan-lemmas/1\nsizes 29\ninfeasible\nclaim 29\nset time 0\nend @0\n"
    digest = sha256(table.encode()).hexdigest()
    sentence = f"proved: nothing fits, in pools of 29 bytes, problem sha256 {digest} with half-open lifetimes"
    assert run_checker(tmp_path, table, proof) == (0, sentence)
    assert run_checker(tmp_path, table, proof, "29") == (0, sentence)
    assert status(tmp_path, table, proof, "30") == 3
    used = "memplan-lemmas/1\nsizes -\nused 30\nclaim 29\nset time 0\nend @0\n"
    assert run_checker(tmp_path, table, used)[1].startswith("proved: no plan uses less than 30 bytes of its pools,")


def test_pool_sizes_of_the_command_override_those_of_the_problem_in_all_checkers(tmp_path: Path) -> None:
    text = problem(*PAIR, pools=[{"size": 20, "base_address": 1}])
    assert status(tmp_path, text, FITS_NOT) == 3
    code, sentence = run_checker(tmp_path, text, FITS_NOT, "7@64")
    assert (code, "in pools of 7@64 bytes" in sentence) == (0, True)


CLOSED = [{"id": "a", "size": 9, "start": 0, "end": 1}, {"id": "b", "size": 9, "start": 1, "end": 2}]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (json.dumps({"buffers": CLOSED, "interval": "closed"}), ()),
        (json.dumps({"buffers": CLOSED}), ("--inclusive",)),
        ("id,start,end,size\na,0,1,9\nb,1,2,9\n", ()),
        ("id,lower,upper,size\na,0,1,9\nb,1,2,9\n", ("--inclusive",)),
        (json.dumps({"buffers": [{"id": 0, "size": 9, "lifetimes": [[0, 1]]}, CLOSED[1]], "interval": "closed"}), ()),
    ],
)
def test_checkers_count_closed_lifetimes_at_the_last_step(tmp_path: Path, text: str, options: tuple[str, ...]) -> None:
    proof = "memplan-lemmas/1\nsizes -\nused 18\nclaim 17\nset time 1\nend @0\n"
    code, sentence = run_checker(tmp_path, text, proof, *options)
    assert (code, sentence.endswith("with closed lifetimes")) == (0, True)


def test_option_half_open_overrides_the_closed_lifetimes_of_a_csv_table(tmp_path: Path) -> None:
    table = "id,start,end,size\na,0,1,9\nb,1,2,9\n"
    proof = "memplan-lemmas/1\nsizes -\nused 18\nclaim 17\nset time 1\nend @0\n"
    assert status(tmp_path, table, proof, "--half-open") == 3


def test_checkers_accept_certificates_made_by_memplan_from_files_with_closed_lifetimes(tmp_path: Path) -> None:
    for name, data in (
        ("json", json.dumps({"buffers": CLOSED, "interval": "closed"})),
        ("csv", "id,start,end,size\na,0,1,9\nb,1,2,9\n"),
    ):
        read = FORMATS[name].read_problem(data.encode())
        assert status(tmp_path, data, certify(read, solve(read)).text) == 0


REFUSED_BY_BOTH = {
    "nothing": "",
    "a list cut short": '{"buffers": [',
    "a text cut short": '{"buffers": [{"id": "a',
    "buffers that are no list": '{"buffers": 1}',
    "a row without an id": '{"buffers": [{"size": 1}]}',
    "a key twice": problem(*PAIR).replace('"size": 4', '"size": 1, "size": 4'),
    "a key twice by an escape": problem(*PAIR).replace('"size": 4', '"\\u0073ize": 1, "size": 4'),
    "a field that is none": problem(PAIR[0] | {"aligment": 8}, PAIR[1]),
    "a circle of aliases": problem(*PAIR, *({"id": k, "size": 1, "alias_of": 1 - k} for k in (0, 1))),
    "an alias of itself": problem(*PAIR, {"id": 0, "size": 1, "alias_of": 0}),
    "a circle of distances": problem(
        *PAIR, *({"id": k, "size": 1, "relative": {"to": 1 - k, "offset": 0}} for k in (0, 1))
    ),
    "an alias outside": problem(*PAIR, {"id": 0, "size": 5, "alias_of": "a"}),
    "alignment 0": problem(PAIR[0] | {"alignment": 0}, PAIR[1]),
    "alignment 0 of a pool": problem(*PAIR, pools=[{"size": 7, "alignment": 0}]),
    "modulus 0": problem(PAIR[0] | {"offset_mod": {"modulus": 0, "remainder": 0}}, PAIR[1]),
    "a remainder that is none": problem(PAIR[0] | {"offset_mod": {"modulus": 2, "remainder": 2}}, PAIR[1]),
    "no_cross 0": problem(PAIR[0] | {"no_cross": 0}, PAIR[1]),
    "a size below 0": problem(PAIR[0] | {"size": -1}, *PAIR),
    "a size above 2^62": problem(PAIR[0] | {"size": 2**62 + 1}, PAIR[1]),
    "a time above 2^63": problem(PAIR[0] | {"end": 2**63}, PAIR[1]),
    "a pool of 2^63": problem(*PAIR, pools=[{"size": 2**63}]),
    "a size that is no integer": problem(PAIR[0] | {"size": 4.0}, PAIR[1]),
    "a size with an exponent": problem(*PAIR).replace('"size": 4', '"size": 4e0'),
    "a size as a text": problem(PAIR[0] | {"size": "4"}, PAIR[1]),
    "a size with a plus": problem(*PAIR).replace('"size": 4', '"size": +4'),
    "a size with a zero before it": problem(*PAIR).replace('"size": 4', '"size": 04'),
    "a truth value": problem(PAIR[0] | {"size": True}, PAIR[1]),
    "null for what is not optional": problem(PAIR[0] | {"alignment": None}, PAIR[1]),
    "an id twice": problem(PAIR[0], PAIR[0]),
    "an empty id": problem(PAIR[0] | {"id": ""}, PAIR[1]),
    "a pool's name twice": problem(*PAIR, pools=[{"size": 7}, {"size": 7}]),
    "a name of no pool": problem(PAIR[0] | {"pools": ["fast"]}, PAIR[1]),
    "no pool left": problem(PAIR[0] | {"forbid_pools": ["default"]}, PAIR[1]),
    "a pin without its pool": problem(PAIR[0] | {"offset": 0}, PAIR[1], pools=[{"size": 7}, {"name": "b", "size": 7}]),
    "a conflict with nobody": problem(*PAIR, conflicts=[["a", "c"]]),
    "a sharing with nobody": problem(*PAIR, may_share=[["a", "c"]]),
    "a sharing with itself": problem(*PAIR, may_share=[["a", "a"]]),
    "half a lifetime": problem({"id": "a", "size": 4, "end": 2}, PAIR[1]),
    "two lifetimes": problem(PAIR[0] | {"lifetimes": [[0, 2]]}, PAIR[1]),
    "an end before its start": problem(PAIR[0] | {"end": 0}, PAIR[1]),
    "a word for the lifetimes": problem(*PAIR, interval="open"),
    "a word for what is minimised": problem(*PAIR, objective="size"),
    "a cost below 0": problem(*PAIR, pools=[{"size": 7, "cost": -1}]),
    "NaN": problem(*PAIR, pools=[{"size": 7, "cost": float("nan")}]),
    "a control character": problem(*PAIR).replace('"a"', '"a\t"'),
    "a surrogate alone": problem(*PAIR).replace('"a"', '"\\ud800"'),
    "a wrong escape": problem(*PAIR).replace('"a"', '"\\x41"'),
    "what comes after": problem(*PAIR) + "{}",
    "no object": json.dumps(PAIR),
    "deep": '{"buffers": ' + "[" * 1000 + "]" * 1000 + "}",
    "a table with quotes that do not end": 'id,lower,upper,size\n"a,0,2,4\nb,1,3,4\n',
    "a column twice": "id,lower,start,upper,size\na,0,0,2,4\nb,1,1,3,4\n",
    "a column that is none": "id,lower,upper,size,shape\na,0,2,4,1\nb,1,3,4,1\n",
    "a column that is missing": "id,lower,size\na,0,4\nb,1,4\n",
    "a row that is short": "id,lower,upper,size\na,0,2,4\nb,1,3\n",
    "an underscore": "id,lower,upper,size\na,0,2,4\nb,1,3,1_0\n",
    "another digit": "id,lower,upper,size\na,0,2,4\nb,1,3,\u0664\n",
    "an id of a table twice": "id,lower,upper,size\na,0,2,4\na,1,3,4\n",
}


@pytest.mark.parametrize("text", REFUSED_BY_BOTH.values(), ids=REFUSED_BY_BOTH)
def test_checkers_refuse_all_files_that_memplan_refuses(tmp_path: Path, text: str) -> None:
    data = text.encode()
    with pytest.raises(InputError):
        FORMATS["json" if text[:1] in "{[" else "csv"].read_problem(data)
    assert status(tmp_path, text, FITS_NOT) == 2
    assert answers([tmp_path / "problem", tmp_path / "none"])[0] == 2


STRICTER = {
    "minus 0": problem(PAIR[0] | {"start": 0}, PAIR[1]).replace('"start": 0', '"start": -0'),
    "a plus in a table": "id,lower,upper,size\na,0,2,4\nb,1,3,+4\n",
    "a cost just above 1e30": problem(*PAIR, pools=[{"size": 7, "cost": 10**30 + 1}]),
    "a zero before others": "id,lower,upper,size\na,0,2,4\nb,1,3,04\n",
    "quotes": 'id,lower,upper,size\n"a",0,2,4\nb,1,3,4\n',
}


@pytest.mark.parametrize("text", STRICTER.values(), ids=STRICTER)
def test_checkers_refuse_some_ambiguous_files_that_memplan_accepts(tmp_path: Path, text: str) -> None:
    assert status(tmp_path, text, FITS_NOT) == 2


@pytest.mark.parametrize(
    "text",
    [
        problem(*PAIR),
        "\ufeff" + problem(*PAIR),
        problem(
            *PAIR, conflicts=[], bank=[{"buffers": ["a", "b"], "weight": 1e-5}], together=[["a", "b"]], name="\u00e9"
        ),
        problem(PAIR[0] | {"hint": 3, "traffic": None}, PAIR[1] | {"id": '\U0001f600 "\\/\b\u0001'}),
        problem(*PAIR, read_with={"target": "esp32s3", "capacity": ["sram=1KiB"]}),
        problem(*PAIR).replace('"alias', '"alias').replace('"b"', '"\\u0062"'),
        problem(*PAIR, {"id": 1, "size": 0}, {"id": "1", "size": 0}, {"id": "part", "size": 1, "alias_of": "a"}),
        "id,lower,upper,size\na,0,2,4\nb,1,3,4\n",
        "\ufeffid , size,lower,upper,alignment,offset\r\n\r\na, 4 ,0,2,,\r\n b,4,-1,3,1,\r\n  \r\n",
    ],
)
def test_checkers_accept_files_that_memplan_accepts(tmp_path: Path, text: str) -> None:
    FORMATS["csv" if "lower" in text else "json"].read_problem(text.encode())
    assert status(tmp_path, text, FITS_NOT) == 0


def test_checkers_read_a_json_key_with_escapes_as_the_same_field(tmp_path: Path) -> None:
    text = problem(PAIR[0], PAIR[1] | {"alias_of": "a"}).replace("alias_of", "alias\\u005fof")
    assert status(tmp_path, text, FITS_NOT) == 3
    text = problem(*PAIR, may_share=[["a", "b"]]).replace("may_share", "may\\u005fshare")
    assert status(tmp_path, text, FITS_NOT) == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@0", "@-1"),
        ("@0", "$-1"),
        ("@0", "@0:1:0:1:1"),
        ("@0", "@0:0:0:1"),
        ("@0", "@0:1:0:0"),
        ("@0", "@0:1:0:2"),
        ("@0", "@+0"),
        ("@0", "@0_0"),
        ("@0", "@\u0660"),
        ("@0", "@0 @0"),
        ("@0\n", "@0"),
        ("@0\n", "@0\r\n"),
        ("@0\n", "@0\n\n"),
        ("@0\n", "@0 \n"),
        ("time 1", "time +1"),
        ("time 1", "time 1e0"),
        ("time 1", "time 1 2"),
        ("time 1", "when 1"),
        ("claim 7", "claim 07"),
        ("claim 7", "claim  7"),
        ("infeasible", "infeasible 7"),
        ("infeasible", "impossible"),
        ("sizes 7", "sizes 7 -"),
        ("lemmas/1", "lemmas/2"),
        ("set time 1\n", "set time 1\n\n"),
        ("set time 1\n", "set time 1\nl 0 @0 @0 0:0 0:1\n"),
        ("set time 1\n", "set time 1\nl 0 @0 @0 1:0\n"),
        ("set time 1\n", "set time 1\nl 0 @0 @0 0:0,0\n"),
        ("set time 1\n", f"set time 1\nl 0 @0 @0 0:{2**63}\n"),
        ("set time 1\n", "set time 1\nl 0 @0 @0 0:x\n"),
        ("set time 1\n", "set time 1\nset of 2\n"),
    ],
)
def test_checkers_refuse_certificates_with_changed_syntax(tmp_path: Path, old: str, new: str) -> None:
    assert old in FITS_NOT
    proof, files = FITS_NOT.replace(old, new, 1), (tmp_path / "problem", tmp_path / "proof")
    files[0].write_text(problem(*PAIR))
    files[1].write_bytes(proof.encode())
    assert answers(files)[0] in (2, 3)


def test_checkers_combine_three_large_moduli_without_overflow(tmp_path: Path) -> None:
    moduli = [(2**62 - 57, 5), (2**62 - 87, 7)]
    rows = [PAIR[0] | {"alignment": 2**62}, {"id": "c", "size": 4, "alias_of": "a", "alignment": 2**61 - 1}]
    rules = enumerate({"modulus": m, "remainder": r} for m, r in moduli)
    rows += [{"id": k, "size": 1, "alias_of": "a", "offset_mod": rule} for k, rule in rules]
    proof = "memplan-lemmas/1\nsizes 7\ninfeasible\nclaim 7\nend !0\n"
    assert status(tmp_path, problem(*rows), proof) == 0
    assert Problem.model_validate_json(problem(*rows)) is not None


def test_checker_runs_with_python_flags_that_exclude_its_folder_from_the_path(tmp_path: Path) -> None:
    pools = [{"name": "fast", "size": 4, "cost": 0.1}, {"name": "slow", "cost": 0.75}]
    text = problem(*PAIR, pools=pools, objective="cost")
    read = FORMATS["json"].read_problem(text.encode())
    files = tmp_path / "problem", tmp_path / "proof"
    files[0].write_text(text)
    files[1].write_text(certify(read, solve(read)).text)
    for flag in ("-P", "-I"):
        code, sentence = answers(files, python_flags=[flag])
        assert (code, sentence[:43]) == (0, "proved: no plan costs less than 68/20, nor ")
