"""Write memplan/__init__.pyi, the static types of the public names: `python -m lab.stubs`.

The functions of questions get each option as a keyword, with the type that its model gives it.
"""

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

_File = str | PathLike[str] | Mapping[str, Any]
'''
_NAMED = {"None", "str", "int", "float", "bool", "bytes", "Any", "Mapping", "Sequence", *memplan.__all__}
_ORIGINS = {tuple: "Sequence", list: "Sequence", dict: "Mapping", Mapping: "Mapping"}


def stub() -> str:
    """Return the text of the stub: imports of the public classes, and a function for each question."""
    functions = sorted({*memplan.__all__} & QUESTIONS.keys())
    others = sorted({*memplan.__all__} - {*functions, "solve"})
    imports = [f"from {vars(memplan)['_MODULES'][name]} import {name} as {name}" for name in others]
    solvers = ", ".join(f'"{name}"' for name in (*registry.BY_NAME, *reference_planners()))
    parts = [_HEAD, *sorted(imports), f"_Solver = Literal[{solvers}]", *map(_function_text, functions)]
    return "\n".join([*parts, "solve = plan", f"__all__ = {sorted(memplan.__all__)}", ""])


def _function_text(name: str) -> str:
    question, signature, rows = QUESTIONS[name], inspect.signature(getattr(memplan, name)), list[str]()
    inputs = {each.name for each in question.inputs}
    for each in signature.parameters.values():
        rows += ["*"] * (each.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in rows)
        field = None if each.name in inputs else question.options.model_fields.get(each.name)
        if field is None:
            kind = _public_type(each.annotation) + (" | _File" if each.name in inputs else "")
        else:
            kind = "_Solver | None" if each.name == "solver" else _type_text(field.annotation)
            # An option whose text is parsed also accepts the text, or a number.
            kind += " | str | int" if "BeforeValidator" in f"{field.annotation}{field.metadata}" else ""
        rows.append(f"{each.name}: {kind}{'' if each.default is inspect.Parameter.empty else ' = ...'}")
    answer = "Plan" if name == "plan" else _public_type(signature.return_annotation)
    return f"def {name}({', '.join(rows)}) -> {answer}: ..."


def _public_type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else _type_text(annotation)
    return re.sub(r"[A-Za-z_]\w*", lambda found: found[0] if found[0] in _NAMED else "Any", text)


def _type_text(kind: Any) -> str:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _type_text(parts[0])
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, parts))}]"
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_type_text, parts)))
    if origin in _ORIGINS:
        inside = parts[:1] if _ORIGINS[origin] == "Sequence" else parts
        return f"{_ORIGINS[origin]}[{', '.join(map(_type_text, inside))}]"
    name = "None" if kind is type(None) else getattr(kind, "__name__", "Any")
    return name if name in _NAMED else "Any"


if __name__ == "__main__":
    STUB.write_text(stub())
    subprocess.run([sys.executable, "-m", "ruff", "format", STUB], check=True)
