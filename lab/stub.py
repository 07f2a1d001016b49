"""Write memplan/__init__.pyi, what type checkers know of `import memplan`, from the rows of questions."""

from __future__ import annotations

import inspect
import subprocess
import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_overloads, get_type_hints

import memplan
from memplan.questions import questions
from memplan.questions.capability import Capability
from memplan.questions.capability.registry import CAPABILITIES

FILE = Path(memplan.__file__).with_suffix(".pyi")
_PLAIN = (int, float, str, bool, types.NoneType)
_HEAD = '''"""Made by `python -m lab.stub`."""

from collections.abc import Mapping
from os import PathLike
from typing import Any, Literal, overload

from memplan.questions.capability import Control as Control
'''
_GIVEN = "Mapping[str, Any] | str | PathLike[str]"
"""What stands for an input that is read: JSON's objects, and the path of a file."""


def stub() -> str:
    """Return the text of the file."""
    modules: Mapping[str, str] = {
        name: module
        for name, module in vars(memplan)["_modules"]().items()
        if name != "solve" and module.startswith("memplan.")  # not what other distributions bring
    }
    rows = [f"from {module} import {name} as {name}" for name, module in modules.items() if name not in questions()]
    rows.remove("from memplan.questions.capability import Control as Control")
    rows += [f"from {kind.__module__} import {kind.__name__}" for kind in _unnamed(modules)]
    questions = [line for name in sorted(questions()) for line in _question(CAPABILITIES[name])]
    lines = [_HEAD + "\n".join(sorted(set(rows))), "", "__all__: list[str]", "", *questions, "solve = plan", ""]
    formatted = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", str(FILE), "-"]
    return subprocess.run(formatted, input="\n".join(lines), text=True, check=True, capture_output=True).stdout


def _unnamed(modules: Mapping[str, str]) -> Iterator[type]:
    """Yield the classes of inputs and answers that `memplan` has no name for."""
    for name in questions():
        for kind in _classes(get_type_hints(CAPABILITIES[name].function)):
            if kind.__module__.startswith("memplan.") and kind.__name__ not in modules:
                yield kind


def _classes(hints: Mapping[str, Any]) -> Iterator[type]:
    for hint in hints.values():
        yield from (each for each in (get_args(hint) or (hint,)) if isinstance(each, type) and not get_args(each))


def _question(capability: Capability[Any]) -> Iterator[str]:
    """Yield the lines of a question: its inputs, each as a value or to be read, and its options by name."""
    hints = get_type_hints(capability.function)
    parameters = inspect.signature(capability.function).parameters.values()
    lines = [f"{_parameter(each, capability, _text(hints[each.name]))}" for each in parameters]
    if not any(each.kind is each.KEYWORD_ONLY for each in parameters):
        lines.append("*")
    options = get_type_hints(capability.options, include_extras=True)
    lines += [f"{name}: {_text(options[name])} = ..." for name in capability.options.model_fields if name not in hints]
    answers = [(None, hints["return"])] if len(capability.answers) == 1 else _of_each_input(capability)
    for kind, answer in answers:
        head = [f"    {capability.inputs[0].name}: {kind},", *(f"    {line}," for line in lines[1:])]
        yield from ["@overload"] if len(answers) > 1 else []
        yield from (f"def {capability.name}(", *([f"    {line}," for line in lines] if kind is None else head))
        yield f") -> {_text(answer)}: ..."
    yield ""


def _of_each_input(capability: Capability[Any]) -> list[tuple[str | None, Any]]:
    """Return the answer to each class of the first input, by its overloads; what is read has the first one's."""
    found = [get_type_hints(each) for each in get_overloads(capability.function)]
    name = capability.inputs[0].name
    first, *others = found
    return [
        *((_text(each[name]), each["return"]) for each in others),
        (f"{_text(first[name])} | {_GIVEN}", first["return"]),
    ]


def _parameter(each: inspect.Parameter, capability: Capability[Any], kind: str) -> str:
    """Write a parameter; what is behind a star is by name alone."""
    if each.name == "options":
        kind = f"{capability.options.__name__} | Mapping[str, Any] | None"
    elif each.name == "control":
        kind = "Control | None"
    elif kind != "Any":
        kind = f"{kind.removesuffix(' | None')} | {_GIVEN}{' | None' if kind.endswith(' | None') else ''}"
    star = "*, " if each.kind is each.KEYWORD_ONLY else ""
    return f"{star}{each.name}: {kind}{'' if each.default is each.empty else ' = ...'}"


def _text(kind: Any) -> str:
    """Write an annotation as types that every checker knows; what says more than these is any value."""
    if "Validator" in repr(kind):  # it reads texts, too
        return "Any"
    if get_origin(kind) is Annotated:
        return _text(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return f"Literal[{', '.join(map(repr, get_args(kind)))}]"
    if get_origin(kind) in (Union, types.UnionType):
        texts = sorted((_text(each) for each in get_args(kind)), key=lambda text: text == "None")
        return "Any" if "Any" in texts else " | ".join(texts)
    if kind in _PLAIN:
        return "None" if kind is types.NoneType else kind.__name__
    is_ours = isinstance(kind, type) and kind.__module__.startswith("memplan.") and not get_args(kind)
    return kind.__name__ if is_ours else "Any"


if __name__ == "__main__":
    FILE.write_text(stub(), encoding="utf-8")
    sys.exit()
