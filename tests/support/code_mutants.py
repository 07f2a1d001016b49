"""Mutation testing: each mutant is a minimal change to a function of a module, applied while it is tested."""

import ast
import copy
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from inspect import getsource
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

Case = TypeVar("Case")
_OPPOSITES: tuple[tuple[type[ast.AST], type[ast.AST]], ...] = (
    *((ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot), (ast.And, ast.Or), (ast.Add, ast.Sub)),
)
_TURNED: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.GtE, ast.LtE),
    ast.LtE: (ast.Gt, ast.Lt),
    ast.Gt: (ast.LtE, ast.GtE),
    ast.GtE: (ast.Lt, ast.Gt),
    **{one: (other,) for pair in _OPPOSITES for one, other in (pair, pair[::-1])},
}
"""For each operator, its replacements in a mutant: the opposite and, for a comparison, its strict or weak form."""


@dataclass(frozen=True)
class Mutant:
    """A module with one change in its functions; `name` has the old and the new line."""

    module: ModuleType
    name: str
    code: dict[str, CodeType]

    @contextmanager
    def apply(self) -> Iterator[None]:
        """Run the block with the mutated code in place of the module's functions."""
        functions = dict(_functions(self.module))
        before = {name: function.__code__ for name, function in functions.items()}
        try:
            for name, function in functions.items():
                function.__code__ = self.code[name]
            yield
        finally:
            for name, function in functions.items():
                function.__code__ = before[name]


def survivors(
    module: ModuleType, tried: list[tuple[Case, object]], said: Callable[[Case], object], without: Collection[str] = ()
) -> tuple[int, set[str]]:
    """Return the number of a module's mutants, and the names of the mutants that no case detects.

    `tried` has the cases with the answers that `said` gives without mutants; its order changes.
    """
    count, alive = 0, set[str]()
    for mutant in mutants(module, without):
        count += 1
        with mutant.apply():
            killer = next((k for k, (case, before) in enumerate(tried) if said(case) != before), None)
        if killer is None:
            alive.add(mutant.name)
        else:  # try it first next time, as a case that detects one mutant detects most others
            tried.insert(0, tried.pop(killer))
    return count, alive


def equivalent_names(module: ModuleType, names: Collection[str]) -> set[str]:
    return {name for name in names if name.startswith(f"{module.__name__.rpartition('.')[2]}: ")}


def mutants(module: ModuleType, without: Collection[str] = ()) -> Iterator[Mutant]:
    """Yield the mutants of all functions except some: operators are replaced, and yields omitted."""
    tree = ast.parse(getsource(module))
    lines = getsource(module).splitlines()
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        if function.name in without:
            continue
        # A loop with a changed end condition may never end.
        endless = {id(node) for loop in ast.walk(function) if isinstance(loop, ast.While) for node in ast.walk(loop)}
        for statement in function.body:
            for node in ast.walk(statement):
                if id(node) not in endless:
                    yield from _node_mutants(module, tree, node, lines)


def _node_mutants(module: ModuleType, tree: ast.Module, node: ast.AST, lines: list[str]) -> Iterator[Mutant]:
    for field, value in _changes(node):
        before = getattr(node, field)
        setattr(node, field, value)
        try:
            code = dict(_codes(compile(copy.deepcopy(tree), module.__file__ or "", "exec")))
            line: int = getattr(node, "lineno", 0)
            became = ast.unparse(node) if not isinstance(node, ast.Expr) else "nothing"
            yield Mutant(module, f"{module.__name__.rpartition('.')[2]}: {lines[line - 1].strip()} -> {became}", code)
        finally:
            setattr(node, field, before)


def _changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            for turned in _TURNED.get(type(op), ()):
                yield "ops", [*node.ops[:k], turned(), *node.ops[k + 1 :]]
    elif isinstance(node, ast.BoolOp | ast.BinOp | ast.AugAssign):
        for turned in _TURNED.get(type(node.op), ()):
            yield "op", turned()
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield | ast.YieldFrom):
        # The function must stay a generator.
        nothing = ast.YieldFrom(ast.Tuple([], ast.Load()))
        yield "value", ast.fix_missing_locations(ast.copy_location(nothing, node.value))


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each.co_qualname, each
            yield from _codes(each)


def _functions(module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    for space in [module, *(each for each in vars(module).values() if isinstance(each, type))]:
        for value in list(vars(space).values()):
            inner = value.func if isinstance(value, cached_property) else getattr(value, "__func__", value)
            inner = inner.fget if isinstance(inner, property) else inner
            if isinstance(inner, FunctionType) and inner.__code__.co_filename == module.__file__:
                yield inner.__qualname__, inner
