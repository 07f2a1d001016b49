"""Write memplan/__init__.pyi, the static types of the public names: `python -m lab.stubs`.

The functions of questions get each option as a keyword, with the type that its model gives it.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import memplan
from memplan.planner.systems import reference_planners
from memplan.questions import QUESTIONS
from memplan.solvers.portfolio import registry

STUB = Path(__file__).parent.parent / "memplan" / "__init__.pyi"
_HEAD = '''"""The static types of memplan's public names, made from the definitions by `python -m lab.stubs`."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal
'''
_FILE = "str | PathLike[str] | Mapping[str, Any]"
"""What each function accepts in place of an input: a file's path, or the JSON object of the input."""
_PLAIN = {"None", "str", "int", "float", "bool", "bytes", "Any", "Mapping", "Sequence"}


def stub() -> str:
    """Return the text of the stub: imports of the public classes, and a function for each question."""
    functions = {name for name in memplan.__all__ if name in QUESTIONS}
    modules: dict[str, list[str]] = {}
    for name in sorted({*memplan.__all__} - functions - {"solve"}):
        modules.setdefault(vars(memplan)["_MODULES"][name], []).append(name)
    imports = [
        f"from {module} import {', '.join(f'{name} as {name}' for name in names)}"
        for module, names in sorted(modules.items())
    ]
    solvers = ", ".join(f'"{name}"' for name in (*registry.BY_NAME, *reference_planners()))
    types_ = [f"_File = {_FILE}", f"_Solver = Literal[{solvers}]"]
    parts = [_HEAD, *imports, "", *types_, "", *map(_function, sorted(functions)), "solve = plan"]
    return "\n".join([*parts, f"__all__ = {sorted(memplan.__all__)}", ""])


def _function(name: str) -> str:
    question, rows, is_keyword = QUESTIONS[name], list[str](), False
    inputs = {each.name for each in question.inputs}
    for each in inspect.signature(getattr(memplan, name)).parameters.values():
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not is_keyword:
            rows, is_keyword = [*rows, "*"], True
        field = None if each.name in inputs else question.options.model_fields.get(each.name)
        if field is not None:
            kind = "_Solver | None" if each.name == "solver" else _option_type(field.annotation, field.metadata)
        else:
            kind = _public_names(each.annotation) + (" | _File" if each.name in inputs else "")
        rows.append(f"{each.name}: {kind}{'' if each.default is inspect.Parameter.empty else ' = ...'}")
    answer = "Plan" if name == "plan" else _public_names(inspect.signature(getattr(memplan, name)).return_annotation)
    return f"def {name}({', '.join(rows)}) -> {answer}: ..."


def _public_names(annotation: Any) -> str:
    """Return an annotation in which each name that is not public is Any."""
    text = annotation if isinstance(annotation, str) else _type_text(annotation)
    return re.sub(r"[A-Za-z_]\w*", lambda found: found[0] if found[0] in {*_PLAIN, *memplan.__all__} else "Any", text)


def _option_type(annotation: Any, checks: list[Any]) -> str:
    """Return the type of an option; an option whose text is parsed also accepts the text, or a number."""
    is_parsed = "BeforeValidator" in f"{annotation}{checks}"
    return " | ".join(dict.fromkeys([_type_text(annotation), *(("str", "int") if is_parsed else ())]))


def _type_text(kind: Any) -> str:
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any or kind is type(None):
        return "Any" if kind is Any else "None"
    if origin is Annotated:
        return _type_text(parts[0])
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, parts))}]"
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_type_text, parts)))
    if origin in (tuple, list):
        return f"Sequence[{_type_text(parts[0])}]"
    if origin in (dict, Mapping):
        return f"Mapping[{', '.join(map(_type_text, parts))}]"
    name = getattr(kind, "__name__", "")
    return name if name in _PLAIN or name in memplan.__all__ else "Any"


def main() -> None:
    """Write the stub, and format it."""
    STUB.write_text(stub())
    subprocess.run([sys.executable, "-m", "ruff", "format", STUB], check=True)


if __name__ == "__main__":
    main()
