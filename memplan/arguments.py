"""Functions whose arguments are checked by their annotations: a wrong kind of thing is an InputError."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from numbers import Integral, Real
from os import PathLike
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from memplan.planner.errors import OptionError, shown
from memplan.planner.errors.did_you_mean import did_you_mean, meant_number

F = TypeVar("F", bound=Callable[..., Any])
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_NUMBERS: dict[Any, type] = {int: Integral, float: Real}

_NAMED = 2
"""The arguments by name that an example of a call has."""
_READ = {"Problem": "read_problem(path)", "Plan": "read_plan(path, problem)", "OperationGraph": "read_graph(path)"}
"""The readers of what is given as a path where a value is wanted."""


def checked(function: F) -> F:
    """Return a function that raises OptionError for arguments of other types than its annotations say."""
    signature = inspect.signature(function)
    kinds: dict[str, tuple[type, ...]] = {}

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        if not kinds:
            hints = _hints_of_parameters(function)
            named_ones = (each.name for each in signature.parameters.values() if each.kind not in _MANY)
            kinds.update((name, _classes(hints[name])) for name in named_ones if name in hints)
        try:
            found = signature.bind(*given, **named).arguments
        except TypeError as error:
            wrong = next((name for name in named if name not in signature.parameters), "")
            kind = kinds.get("options", ())[:1]
            if kind and wrong in getattr(kind[0], "model_fields", ()):
                hint = f" (did you mean options={kind[0].__name__}({wrong}=...)?)"
            else:
                hint = did_you_mean(wrong, signature.parameters) or f": {_call(function, is_full=not wrong)}"
            raise OptionError(f"{function.__name__}: {error}{hint}") from None
        for name, value in found.items():
            if kinds.get(name) and not isinstance(value, kinds[name]):
                way = _READ.get(kinds[name][0].__name__) if isinstance(value, str | PathLike) else None
                call = f"read it by memplan.{way}" if way else _call(function)
                raise OptionError(f"{name}: {_rule(kinds[name])}, got {_got(value)}: {call}")
        return function(*given, **named)

    return call  # type: ignore[return-value]  # of the same signature


def _hints_of_parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of parameters: that of what is returned may be one that is not imported yet."""
    alike = types.FunctionType(function.__code__, function.__globals__)
    alike.__annotations__ = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    return get_type_hints(alike)


def _classes(kind: Any) -> tuple[type, ...]:
    """Return the classes that an annotation allows; none where it says more than classes do."""
    members = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    found = [_NUMBERS.get(member, get_origin(member) or member) for member in members]
    return tuple(found) if all(isinstance(each, type) and each is not Any for each in found) else ()


def _rule(kinds: tuple[type, ...]) -> str:
    plain: dict[type, str] = {Real: "number", Integral: "integer", str: "string", PathLike: "path"}
    names = [plain.get(kind, kind.__name__) for kind in kinds if kind is not type(None)]
    articles = {name: "" if name == "bytes" else "an " if name[0] in "aeiouAEIOU" else "a " for name in names}
    return "must be " + " or ".join(f"{article}{name}" for name, article in articles.items())


def _got(value: object) -> str:
    if isinstance(value, (str, int, float, list, dict, tuple, type(None))):
        text = value.removesuffix("s").removesuffix("ec") if isinstance(value, str) else value
        return f"{shown(value)}{meant_number(text)}"
    return f"a {type(value).__name__}"


def _call(function: Callable[..., Any], *, is_full: bool = False) -> str:
    """Return a call of a function with the arguments that it needs, and some that it may have by name."""
    found = inspect.signature(function).parameters.values()
    needed = [each.name for each in found if each.default is each.empty and each.kind not in _MANY]
    named = [f"{each.name}=..." for each in found if is_full and each.kind is each.KEYWORD_ONLY]
    return f"{function.__name__}({', '.join([*needed, *named[:_NAMED]])})"
