"""Tests that the answers to all questions about one file agree, for files of every format and for random models."""

import json
from itertools import chain

import pytest

from memplan.planner.errors import InputError
from memplan.planner.foreign.reading import read_model
from memplan.programs.inputs import read_graph
from memplan.programs.models.model_graph import graph_of_imported
from memplan.questions.explain.explain import explain
from memplan.questions.explain.values import ExplainOptions
from memplan.questions.reading import Reader
from tests.runtimes import foreign_files
from tests.runtimes.drawn_files import FORMATS, draw_file
from tests.runtimes.drawn_models import draw, live_peak
from tests.runtimes.file_invariants import violations
from tests.support.depth import seeds

FILES = dict(chain(foreign_files.files(), foreign_files.models()))
EXAMPLES = foreign_files.MODELS.parents[1] / "examples"


@pytest.mark.parametrize("name", FILES)
def test_answers_about_a_file_of_another_system_agree(name: str) -> None:
    assert violations(FILES[name], name) == []


@pytest.mark.parametrize("name", ["operations.json", "two_memories.json", "mobilenet_v2.csv"])
def test_answers_about_an_example_problem_or_program_agree(name: str) -> None:
    assert violations((EXAMPLES / name).read_bytes(), name) == []


@pytest.mark.drawn
@pytest.mark.parametrize("seed", [*seeds(60), 247])
def test_answers_about_a_random_model_agree(seed: int) -> None:
    name, data, live = draw_file(seed)
    assert violations(data, name, live=live) == []


def test_random_models_cover_all_operation_kinds_of_their_format() -> None:
    for name, how in FORMATS.items():
        models = [draw(seed, how) for seed in range(60)]
        assert {step.kind for model in models for step in model.steps} >= set(how.kinds.split()) | {"neg"}, name
        unread = [set(model.given) - {t for step in model.steps for t in step.inputs} for model in models]
        assert any(unread) or how.keeps_unread, name
        assert any(len(model.results) > 1 for model in models), name


def test_a_wrong_live_peak_of_a_file_violates_an_invariant() -> None:
    how = FORMATS["onnx"]
    model = draw(7, how)
    assert violations(how.write(model), "m.onnx", live=live_peak(model, how) + 64) != []


def test_findings_of_a_reader_are_reported_once_for_graphs_of_operations() -> None:
    data = FILES["loop.onnx"]
    reader = Reader()
    reader.problem(data, "loop.onnx")
    # Reading the graph gives the same findings again, so check that they are not listed twice.
    read_graph(reader, data, "loop.onnx")
    assert [each.rule for each in reader.warnings] == ["view-apart"]


def test_a_warning_states_that_a_graph_of_operations_counts_several_memories_as_one() -> None:
    reader = Reader()
    read_graph(reader, FILES["llama_block_two_memories.json"], "graph.json")
    assert [each.rule for each in reader.warnings] == ["one-memory"]


@pytest.mark.parametrize(
    "name", ["drawn5.json", "drawn3.relax", "hand.mlir", "litert-8889.txt", "pytorch-187678.py.txt"]
)
def test_a_truncated_file_is_refused(name: str) -> None:
    if name.startswith("pytorch"):
        data = (foreign_files.MODELS.parent / "dumps" / "wrong" / name).read_bytes()
    else:
        data = FILES[name] if name in FILES else draw_file(int(name[5]))[1]
    lines = data[: data.index(b"\nExecution plan")] if name.startswith("litert") else data.rstrip()
    rows = lines.splitlines(keepends=True)
    for k in range(len(rows) // 2, len(rows)):
        with pytest.raises(InputError):
            read_model(b"".join(rows[:k]), name)


def test_a_buffer_read_before_it_is_written_causes_a_warning() -> None:
    body = [{"op": "a", "inputs": ["t"], "outputs": ["y"]}, {"op": "b", "inputs": ["y"], "outputs": ["t"]}]
    main = {"results": ["y"], "buffers": [{"id": "t", "size": 8}, {"id": "y", "size": 8}], "body": body}
    reader = Reader()
    reader.problem(json.dumps({"functions": {"main": main}}).encode(), "operations.json")
    assert [(each.rule, each.buffers) for each in reader.warnings] == [("read-before-written", ("main/t",))]


def test_repairs_by_operations_count_the_bytes_inside_regions() -> None:
    model = read_model(FORMATS["stablehlo"].write(draw(122, FORMATS["stablehlo"])), "m.mlir")
    options = ExplainOptions(repairs=1, study_s=0.5, deterministic=True)
    found = explain(model.problem.with_capacity(832), graph_of_imported(model).graph, options=options)
    assert (found.status, found.repairs.of_operations.repairs) == ("infeasible", ())
