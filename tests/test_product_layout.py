"""Rules for product modules that no linter checks: number of imports, and tuple parameters."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("api", "memplan", "planner", "questions", "solvers")
MOST_IMPORTS = 20
MOST_MIXED = 3
"""Maximum number of mixed values in a tuple parameter; more should be a named class."""
MANY_IMPORTS = {
    # These modules put the parts of the service together, or connect requests with reading, searching and storing.
    "api/client/http_async.py",
    "api/http/app_state.py",
    "api/http/openapi.py",
    "api/http/submissions.py",
    "api/http/problem_details.py",
    "api/service/request_task.py",
    "api/http/routes/batch.py",
    "api/http/routes/job_contents.py",
    "api/http/routes/jobs.py",
    "api/http/routes/questions.py",
    "api/requests.py",
    "api/cli/local/check_folder.py",
    "api/cli/local/plan.py",
    "api/service/answering.py",
    "api/service/plan_service.py",
    "api/store/tables/jobs.py",
    "api/workers/child.py",
    # One question has several parts, each with a separate search.
    "questions/check/check.py",
    "questions/plan/plan.py",
    "questions/question/__init__.py",
    "questions/reading/__init__.py",
    "solvers/portfolio/moving.py",
    "questions/explain/explain.py",
    "questions/sweep/combinations.py",
    "questions/verify/verify.py",
    # Studies combine searches, bounds, verifier and engines, which are in separate folders.
    "solvers/certificates/certify.py",
    "questions/explain/reasons/reasoning.py",
    "questions/plan/replanning/replan.py",
}


@cache
def parse_product() -> dict[str, ast.Module]:
    paths = (
        path
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        # The package `memplan` has links to the other rooms.
        if (room != "memplan" or path.parent == ROOT / room) and "tests" not in path.parts
    )
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in sorted(paths)}


def mixed_tuples(tree: ast.Module) -> Iterator[str]:
    """Yield function parameters annotated as tuples of many values of different types."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            given = function.args
            for parameter in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                if parameter.annotation is not None and any(map(is_mixed, ast.walk(parameter.annotation))):
                    yield f"{function.name}({parameter.arg})"


def is_mixed(node: ast.AST) -> bool:
    """Return True for a tuple annotation with more than `MOST_MIXED` values of different types."""
    if not (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and ast.unparse(node.value) == "tuple"
    ):
        return False
    kinds = [ast.unparse(kind) for kind in node.slice.elts]
    return len(kinds) > MOST_MIXED and len(set(kinds)) > 1


def test_each_product_module_has_at_most_twenty_imports() -> None:
    counts = {
        path: sum(isinstance(statement, ast.Import | ast.ImportFrom) for statement in tree.body)
        for path, tree in parse_product().items()
    }
    assert {path for path, count in counts.items() if count > MOST_IMPORTS} - MANY_IMPORTS == set()


def test_no_function_has_a_tuple_parameter_of_many_mixed_types() -> None:
    assert [f"{path}: {name}" for path, tree in parse_product().items() for name in mixed_tuples(tree)] == []


def test_the_layout_check_detects_a_tuple_parameter_of_many_mixed_types() -> None:
    tree = ast.parse("def f(a: tuple[int, int, int, int], b: list[tuple[int, str, int, int]], c: tuple[int, ...]): ...")
    assert list(mixed_tuples(tree)) == ["f(b)"]


def test_the_planner_package_does_not_name_the_api_package() -> None:
    service = ".".join(("memplan", "api"))
    assert [
        path for path in parse_product() if path.startswith("planner/") and service in (ROOT / path).read_text()
    ] == []
