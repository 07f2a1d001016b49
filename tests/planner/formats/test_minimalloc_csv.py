"""Tables of buffers: accepted forms, and messages for mistakes."""

import pytest

from memplan.planner.errors import MAX_SHOWN, FormatError, InputError, ProblemError
from memplan.planner.formats import minimalloc_csv
from memplan.planner.model.problem import Problem

PLAIN = b"id,lower,upper,size\na,0,3,2\nb,2,5,4\n"


@pytest.mark.parametrize(
    "data",
    [
        b"size,id,upper,lower\n2,a,3,0\n4,b,5,2\n",
        b"id,start,end,size\na,0,2,2\nb,2,4,4\n",
        b"id,lower,upper,size\r\na,0,3,2\r\nb,2,5,4\r\n",
        b"id,lower,upper,size\ra,0,3,2\rb,2,5,4",
        b"\xef\xbb\xbfid,lower,upper,size\na,0,3,2\nb,2,5,4",
        b"\n\nid,lower,upper,size\n\na,0,3,2\n   \nb,2,5,4\n\n",
        b'"id","lower","upper","size"\n"a","0","3","2"\n"b","2","5","4"\n',
        b" id , lower , upper , size \na, 0, 3 ,+2\nb,2,5,0004\n",
        b"id,lower,upper,size,alignment,offset\na,0,3,2,1,\nb,2,5,4,,\n",
    ],
)
def test_csv_variants_of_one_table_read_as_the_same_problem(data: bytes) -> None:
    assert minimalloc_csv.read_problem(data) == minimalloc_csv.read_problem(PLAIN)


def test_ids_in_csv_stay_strings_as_written() -> None:
    problem = minimalloc_csv.read_problem(b'id,lower,upper,size\n007,0,1,1\n7,0,1,1\n" x, ""y""",0,1,1\n')
    assert problem.buffers.ids == ("007", "7", ' x, "y"')


def test_a_csv_table_without_rows_reads_as_a_problem_without_buffers() -> None:
    assert len(minimalloc_csv.read_problem(b"id,lower,upper,size\n").buffers) == 0


TOO_LARGE = f"line 2, column 'size': must be an integer of at most 64 bits, got '{'9' * 57}...'"
TOO_WIDE = "line 2: must be a row of comma-separated values: field larger than field limit (131072)"
WRONG = [
    (f"id,lower,upper,size\na,0,1,{'9' * 5000}\n", TOO_LARGE),
    (f"id,lower,upper,size\n{'a' * 200_000},0,1,1\n", TOO_WIDE),
]
"""Inputs too long for a row of `mistakes.txt`, which covers all other errors."""


@pytest.mark.parametrize(("text", "sentence"), WRONG)
def test_errors_in_a_csv_table_name_line_and_column(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        minimalloc_csv.read_problem(text.encode())
    assert error.value.sentences == (sentence,)


def test_all_wrong_csv_cells_are_reported_in_line_order() -> None:
    with pytest.raises(ProblemError) as error:
        minimalloc_csv.read_problem(b"id,lower,upper,size\na,0,x,y\nb,z,1,1\n")
    assert error.value.sentences == (
        "line 2, column 'upper': must be an integer, got 'x'",
        "line 2, column 'size': must be an integer, got 'y'",
        "line 3, column 'lower': must be an integer, got 'z'",
    )


def test_csv_errors_beyond_the_maximum_are_counted_not_listed() -> None:
    for size, rule in (("-1", "must be at least 0, got -1"), ("x", "must be an integer, got 'x'")):
        rows = "".join(f"{i},0,1,{size}\n" for i in range(1000))
        with pytest.raises(ProblemError) as error:
            minimalloc_csv.read_problem(f"id,lower,upper,size\n{rows}".encode())
        assert len(error.value.sentences) == MAX_SHOWN + 1
        assert error.value.sentences[0] == f"line 2, column 'size': {rule}"
        assert error.value.sentences[-1] == "and more"


def test_an_error_in_the_last_of_thousands_of_csv_rows_is_reported() -> None:
    rows = "".join(f"{i},{i},{i + 2},64\n" for i in range(5000))
    with pytest.raises(ProblemError) as error:
        minimalloc_csv.read_problem(f"id,lower,upper,size\n{rows}last,0,1,?\n".encode())
    assert error.value.sentences == ("line 5002, column 'size': must be an integer, got '?'",)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"conflicts": [["a", "b"]]}, "conflicts"),
        ({"may_share": [["a", "b"]]}, "may_share"),
        ({"bank": [{"buffers": ["a", "b"]}]}, "bank"),
        ({"together": [["a", "b"]]}, "together"),
        ({"pools": [{"bank_size": 64}]}, "pools[0].bank_size"),
        ({"objective": "fit"}, 'objective "fit"'),
        ({"pools": [{"size": 64}]}, "pools[0].size"),
        ({"pools": [{"base_address": 64}]}, "pools[0].base_address"),
        ({"pools": [{"name": "x"}, {"name": "y"}]}, "pools (2 of them)"),
    ],
)
def test_a_rule_of_the_problem_that_csv_cannot_express_is_refused(fields: dict[str, object], place: str) -> None:
    rows = [{"id": name, "size": 1, "start": 0, "end": 1} for name in "ab"]
    problem = Problem.model_validate({"buffers": rows, **fields})
    with pytest.raises(FormatError) as error:
        minimalloc_csv.write_problem(problem)
    assert error.value.sentences == (f"{place}: cannot be written to a table",)


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ({"lifetimes": [[0, 1], [4, 5]]}, "buffers[1]: 2 lifetimes"),
        ({}, "buffers[1]: 0 lifetimes"),
        ({"start": 0, "end": 1, "hint": 0}, "buffers[1].hint"),
        ({"start": 0, "end": 1, "alias_of": "a"}, "buffers[1].alias_of"),
        ({"start": 0, "end": 1, "relative": {"to": "a", "offset": 1}}, "buffers[1].relative"),
        ({"start": 0, "end": 1, "no_cross": 4}, "buffers[1].no_cross"),
        ({"start": 0, "end": 1, "offset_mod": {"modulus": 4, "remainder": 1}}, "buffers[1].offset_mod"),
    ],
)
def test_a_rule_of_a_buffer_that_csv_cannot_express_is_refused(row: dict[str, object], place: str) -> None:
    rows = [{"id": "a", "size": 1, "start": 0, "end": 1}, {"id": "b", "size": 1, **row}]
    with pytest.raises(FormatError) as error:
        minimalloc_csv.write_problem(Problem.model_validate({"buffers": rows}))
    assert error.value.sentences == (f"{place}: cannot be written to a table",)


def test_a_written_csv_plan_sorts_rows_and_keeps_lifetimes_and_alignment() -> None:
    rows = [{"id": "holes", "size": 8, "lifetimes": [[4, 6], [0, 1]], "alignment": 4}, {"id": "never", "size": 2}]
    problem = Problem.model_validate({"buffers": rows, "pools": [{"name": "fast"}, {"name": "slow"}]})
    written = b"id,lower,upper,size,alignment,offset,pool\nnever,,,2,1,8,slow\nholes,0,6,8,4,0,fast\n"
    assert minimalloc_csv.write_plan(minimalloc_csv.read_plan(written, problem), problem) == written
