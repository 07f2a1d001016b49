"""Flags of commands, generated from option models, and options read back from flags."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from memplan.api.cli.flag_names import SPELLED, dashed, spelled
from memplan.capabilities.reading import validated
from memplan.planner.errors import shown
from memplan.planner.formats import FORMATS
from memplan.planner.model.rows import MAX_BYTES
from memplan.planner.model.sizes import parse_size
from memplan.systems.model_options import ModelOptions, size_text

V = TypeVar("V")
_METAVARS = {
    "accept": "fit|GAP%",
    "alignments": "SIZE,SIZE",
    "barriers": "NAME",
    "budgets": "[NAME=]SIZE",
    "capacity": "[NAME=]SIZE[@ADDRESS]",
    "copies": "[NAME=]NUMBER",
    "order": "A,B",
    "dims": "NAME=SIZE[,SIZE...]",
    "extra_cost": "PERCENT%",
    "macs": "+PERCENT%",
    "profile": "speed|balanced[+PERCENT%]|size|POOL=WEIGHT,...",
    "objectives": "peak,macs[,traffic]",
    "heaps": "SIZE",
    "plans": "NUMBER",
    "pin": "NAME=[POOL:]OFFSET",
    "pools": "NAME=SIZE",
    "reserve": "[POOL=]SIZE[@OFFSET]",
    "scratch": "OPERATOR=SIZE",
    "symbol": "NAME=LOW..[HIGH][:DIVISOR]",
    "stripe": "ROWS[xCOLUMNS]",
    "sweep": "NAME=VALUE,VALUE",
    "together": "NAMES",
    "tolerance": "SIZE|PERCENT%",
}


PANELS = {
    "Memory": ("alignment", "capacity", "weights", "pin", "reserve", "copies", "order", "inclusive"),
    "Search": (
        *("time_limit_s", "solver", "accept", "seed", "deterministic", "profile", "threads"),
        *("keep", "least", "plans", "distance", "heaps"),
    ),
    "Output": (*("output", "outputs", "display", "save_plan", "save_baseline", "quiet"),),
    "Models": ("dims", "views", "scratch"),
    "Several files": ("together", "on", "parts_folder"),
}
"""The help panels of options, by field name; options not listed have no panel."""


_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


def flag(name: str, kind: Any, default: Any, *spelled: str, **described: Any) -> inspect.Parameter:
    """Return a flag of a command, in its help panel if it has one."""
    option = typer.Option(*spelled, rich_help_panel=_PANEL_OF.get(name), **described)
    annotation = Annotated[kind, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


_SECONDS = {"": 1.0, "s": 1.0, "sec": 1.0, "ms": 1e-3, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds(text: str | float) -> float:
    """Return the seconds in a duration such as `10`, `10s`, `500ms` or `2min`."""
    text = str(text)
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz ") or text  # not a number, or `nan`
    try:
        return float(number) * _SECONDS[text[len(number) :].strip()]
    except (ValueError, KeyError):
        rule = "must be seconds, or a duration such as 10s, 500ms or 2min"
        raise typer.BadParameter(f"{rule}, got {shown(text)}") from None


def seconds_limit(what: str) -> Any:
    """Return the option for a time limit, which takes durations; its help begins with `what`."""
    return typer.Option(parser=seconds, metavar="SECONDS", help=f"{what}: 10, 10s, 500ms or 2min.")


def argument(name: str, kind: Any, default: Any, **described: Any) -> inspect.Parameter:
    """Return a positional argument of a command."""
    annotation = Annotated[kind, typer.Argument(**described)]
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation, default=default)


def options_given(model: type[V], given: Mapping[str, Any]) -> V:
    """Return the options for the flags of a command; raises OptionError, which names the flag."""
    values = {name: given[name] for name in model.model_fields if given.get(name) is not None}  # type: ignore[attr-defined]
    # As in a body: exact types, and lists as tuples.
    listed = {
        name: tuple(value) if isinstance(value, list) else value.value if isinstance(value, StrEnum) else value
        for name, value in values.items()
    }
    defaults = {name: model.model_fields[name].get_default(call_default_factory=True) for name in listed}  # type: ignore[attr-defined]
    for name in listed:
        if listed[name] != defaults[name] and (about := model.model_fields[name]).deprecated:  # type: ignore[attr-defined]
            typer.echo(f"memplan: warning: {spelled(name)[0]}: is deprecated {about.deprecation_message}", err=True)
    if listed == defaults:  # these are valid, and come from typer: see `validated`
        return model.model_construct(**listed)  # type: ignore[attr-defined,no-any-return]
    return validated(model, listed)


def in_texts(value: Any) -> Any:
    """Return an option value as flags write it: mappings as NAME=VALUE."""
    if not isinstance(value, Mapping):
        return value
    return [f"{name}={size_text(each)}" for name, each in value.items()]


def flag_of(name: str, about: FieldInfo) -> inspect.Parameter:
    """Return the flag for a field of an option model."""
    kind: Any = _plain(about.annotation)
    origin, checks = get_origin(kind), f"{about.annotation}{about.metadata}"
    default = None if about.is_required() else about.get_default(call_default_factory=True)
    described: dict[str, Any] = {"help": about.description}
    if metavar := _METAVARS.get(name):
        described["metavar"] = metavar
    if origin is Literal:
        choices = {str(choice): str(choice) for choice in get_args(kind)}
        kind = StrEnum(name, choices)  # type: ignore[misc, no-redef]  # named as the field is
        if name in ModelOptions.model_fields:  # refused for a problem
            described["show_default"], default = str(default), None
    elif name.endswith("_s"):
        described |= {"parser": seconds, "metavar": "SECONDS"}
        described["help"] = f"{about.description} Write 10, 10s, 500ms or 2min."
        kind = float
    elif origin in (list, dict, Mapping) or (origin is tuple and ... in get_args(kind)):
        kind, default = list[str], None
    elif "BeforeValidator" in checks:  # it is read from text
        kind, default = str, None
    elif kind is int and str(MAX_BYTES) in checks:
        described |= {"parser": _bytes, "metavar": "SIZE"}
    elif kind not in (int, float, bool):
        kind = str
    is_switch = kind is bool and name not in SPELLED
    flags = (f"{spelled(name)[0]}/--no-{dashed(name)}",) if is_switch else spelled(name)
    annotated = kind if default is not None and kind is not list[str] else kind | None
    return flag(name, annotated, default, *flags, **described)


def _plain(annotation: Any) -> Any:
    """Return the type of a field without None and without pydantic's metadata."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [_plain(kind) for kind in get_args(annotation) if kind is not type(None)]
        return kinds[0] if len(kinds) == 1 else str
    return annotation


def _bytes(text: str | int) -> int:
    try:
        return parse_size(str(text))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


TABLE, BROWSER = "table", "page"
"""The displays for people: a table, or a table and a page in the browser."""
SUFFIXES = " or ".join(module.SUFFIX for module in FORMATS.values())

QUIET = flag("quiet", bool, False, "--quiet", "-q", help="Print no progress and no notes, only errors.")
Host = Annotated[str, typer.Option(help="Listen on this address.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Listen on this port. 0 takes a free one.")]

SERVER = flag(
    *("server", str | None, None),
    metavar="URL",
    envvar="MEMPLAN_SERVER",
    help="Let the service at this address answer. The environment variable MEMPLAN_KEY holds its key.",
)
# Taken before all else, see `memplan.api.cli.main`, so that it holds for every command.
THREADS = flag(
    "threads",
    int | None,
    None,
    min=1,
    metavar="N",
    help="Use at most this many threads, including those of engines. [MEMPLAN_THREADS]",
)
ON = flag(
    *("on", str | None, None, "--on"),
    metavar="ADDRESS",
    help="Let the machines of this cluster plan the files: dask://HOST:PORT or ray://HOST:PORT.",
)
SAVE_PLAN = flag("save_plan", str | None, None, metavar="PLAN", help=f"Also write the plan to this file: {SUFFIXES}.")
SAVE_BASELINE = flag(
    "save_baseline",
    str | None,
    None,
    metavar="FILE",
    help="Write the problem and the plan to this file as a baseline for later, whatever the check says.",
)


class ListDisplay(StrEnum):
    """The displays of a list: for programs or for people."""

    json = "json"
    table = "table"


_AS_LIST = "Write a table or JSON. The default is a table on a terminal, and JSON otherwise."
ListFormat = Annotated[ListDisplay | None, typer.Option("--format", help=_AS_LIST)]
