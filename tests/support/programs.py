"""Programs for tests, written in short notation: `op("x y -> z")` reads x and y and writes z."""

from typing import Any

from memplan.programs.operations.operations import Operations, operations_from

Statement = dict[str, Any]


def op(arrow: str = "->", *body: Statement, temporaries: str = "", name: str = "op") -> Statement:
    """Return an operation, from its arrow notation."""
    inputs, _, outputs = arrow.partition("->")
    tensors = {"inputs": inputs.split(), "outputs": outputs.split(), "temporaries": temporaries.split()}
    return {"op": name, **tensors, "body": list(body)}


def call(function: str, arrow: str = "->") -> Statement:
    """Return a call of a function, from its arrow notation."""
    inputs, _, outputs = arrow.partition("->")
    return {"call": function, "inputs": inputs.split(), "outputs": outputs.split()}


def choice(*branches: list[Statement]) -> Statement:
    return {"branches": list(branches)}


def loop(*body: Statement, trips: int | None = None) -> Statement:
    return {"loop": list(body), "trips": trips}


def function(
    *body: Statement, takes: str = "", gives: str = "", constants: str = "", **sizes: int | Statement
) -> Statement:
    """Return a function; its buffers are given by their sizes, or as complete rows."""
    rows = [{"id": name, **(row if isinstance(row, dict) else {"size": row})} for name, row in sizes.items()]
    lists = {"params": takes.split(), "results": gives.split(), "constants": constants.split()}
    return {**lists, "buffers": rows, "body": list(body)}


def program(main: Statement, **others: Statement) -> Operations:
    """Return the operations of functions; the entry is `main`."""
    return operations_from({"functions": {"main": main, **others}})
