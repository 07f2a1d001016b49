"""Generation of a command's flags from option models, and conversion of parsed flags to options."""

import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import click
from pydantic.fields import FieldInfo

from memplan.api.cli.flag_names import SPELLED, flags_of
from memplan.planner.errors import excerpt
from memplan.planner.foreign.model_options import ModelOptions, size_text
from memplan.planner.formats import FORMATS
from memplan.planner.model.rows import MAX_BYTES
from memplan.planner.model.sizes import parse_size
from memplan.questions.reading import validate_options
from memplan.questions.reading.adapting import PLAIN_MOVES

V = TypeVar("V")
_METAVARS = {
    "accept": "fit|GAP%",
    "alignments": "SIZE,SIZE",
    "barriers": "NAME",
    "budgets": "[NAME=]SIZE",
    "capacity": "[NAME=]SIZE[@ADDRESS][,cost=COST][,direct=false]",
    "copies": "[NAME=]NUMBER",
    "order": "A,B",
    "dims": "NAME=SIZE[,SIZE...]",
    "extra_cost": "PERCENT%",
    "macs": "+PERCENT%",
    "moves": "[lead=STEPS][,bytes_per_step=SIZE]",
    "profile": "speed|balanced[+PERCENT%]|size|POOL=WEIGHT,...",
    "objectives": "peak,macs[,traffic]",
    "heaps": "SIZE",
    "pin": "NAME=[POOL:]OFFSET|POOL",
    "pools": "NAME=SIZE",
    "reserve": "[POOL=]SIZE[@OFFSET]",
    "scratch": "OPERATOR=SIZE",
    "target": "cortex-m4|esp32|riscv32|host|...",
    "kernels": "reference|cmsis-nn|esp-nn|...",
    "within": "SIZE|PERCENT%",
    "symbol": "NAME=LOW..[HIGH][:DIVISOR]",
    "stripe": "ROWS[xCOLUMNS]",
    "sweep": "NAME=VALUE,VALUE",
    "together": "NAMES",
    "tolerance": "SIZE|PERCENT%",
}


PANELS = {
    "Memory": ("alignment", "capacity", "weights", "pin", "reserve", "copies", "order", "moves", "inclusive"),
    "Search": (
        *("time_limit_s", "solver", "accept", "seed", "deterministic", "profile", "threads"),
        *("keep", "least", "heaps"),
    ),
    "Output": (*("output", "outputs", "display", "save_plan", "save_baseline", "quiet"),),
    "Models": ("dims", "views", "scratch", "target", "kernels"),
    "Several files": ("together", "on", "parts_folder"),
}
"""The help panel of each option field; an option that is not listed is shown without a panel."""
PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


class Flag(click.Option):
    """A click option whose help text shows its default value and its environment variable."""

    def __init__(self, name: str, *spelled: str, **described: Any) -> None:
        """Make a flag for a parameter, by default spelled `--name`; `described` is passed to click.Option."""
        described.setdefault("default", False if described.get("is_flag") else None)
        shown = {"show_default": True, "show_envvar": True}
        super().__init__((name, *(spelled or (f"--{name.replace('_', '-')}",))), **shown | described)


class Argument(click.Argument):
    """A positional argument of a command that, unlike click's own class, also has a help text."""

    def __init__(self, name: str, **described: Any) -> None:
        """Make an argument for a parameter; `described` is passed to click.Argument, except for `help`."""
        about = described.pop("help", None)
        super().__init__((name,), **described)
        self.help = about  # Older versions of click refuse `help` as an argument, so set `help` here.

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return the argument's name and help, as a row for the list of parameters."""
        return self.make_metavar(ctx), f"{self.help or ''}{'  [required]' if self.required else ''}"


_SECONDS = {"": 1.0, "s": 1.0, "sec": 1.0, "ms": 1e-3, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds(text: str | float) -> float:
    """Return the seconds of a duration such as `10`, `10s`, `500ms` or `2min`; raises BadParameter."""
    text = str(text)
    # A text of letters alone, such as `nan`, has no unit, so pass the whole text to float().
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz ") or text
    try:
        return float(number) * _SECONDS[text[len(number) :].strip()]
    except (ValueError, KeyError):
        rule = "must be seconds, or a duration such as 10s, 500ms or 2min"
        raise click.BadParameter(f"{rule}, got {excerpt(text)}") from None


def integer(text: str | int) -> int:
    """Return the integer that a text spells; raises BadParameter if it spells none."""
    try:
        return int(text)
    except ValueError:
        raise click.BadParameter(f"must be an integer, got {excerpt(text)}") from None


def number(text: str | float) -> float:
    """Return the number that a text spells; raises BadParameter if it spells none."""
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"must be a number, got {excerpt(text)}") from None


class RangeType(click.IntRange):
    """The type of integers within a range; its errors state the limit and the value."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the integer that a text spells; raises BadParameter if it is outside the range."""
        found = integer(value)
        if self.min is not None and found < self.min:
            self.fail(f"must be at least {self.min}, got {excerpt(value)}", param, ctx)
        if self.max is not None and found > self.max:
            self.fail(f"must be at most {self.max}, got {excerpt(value)}", param, ctx)
        return found


def time_limit(what: str) -> Flag:
    """Return the flag `--time-limit` (a duration, 10 seconds by default), whose help text begins with `what`."""
    return Flag("time_limit", type=seconds, metavar="SECONDS", default=10.0, help=f"{what}: 10, 10s, 500ms or 2min.")


def options_given(model: type[V], given: Mapping[str, Any]) -> V:
    """Return an option model validated from the flag values in `given`; raises an OptionError for a wrong value."""
    fields: Mapping[str, FieldInfo] = model.model_fields  # type: ignore[attr-defined]
    said = {name: given.get(name) for name in fields}
    # A switch that is absent is False, so a default of False is never said.
    values = {
        k: value for k, value in said.items() if value is not None and (value, fields[k].default) != (False, False)
    }
    # Validation accepts exact types only, so convert lists to tuples first.
    listed = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    defaults = {name: fields[name].get_default(call_default_factory=True) for name in listed}
    for name in listed:
        if listed[name] != defaults[name] and (about := model.model_fields[name]).deprecated:  # type: ignore[attr-defined]
            click.echo(f"memplan: warning: {flags_of(name)[0]}: is deprecated {about.deprecation_message}", err=True)
    if listed == defaults:  # Default values are always valid, so skip validating default options.
        return model.model_construct()  # type: ignore[attr-defined,no-any-return]
    return validate_options(model, listed)


def flag_values(value: Any) -> Any:
    """Convert a mapping of names to sizes to flag texts such as `sram=64KiB`; return any other value unchanged."""
    if not isinstance(value, Mapping):
        return value
    return [f"{name}={size_text(each)}" for name, each in value.items()]


def flag_of(name: str, about: FieldInfo) -> Flag:
    """Return the flag for a field of an option model, with the parser that fits the field's type."""
    kind: Any = _plain_type(about.annotation)
    origin, checks = get_origin(kind), f"{about.annotation}{about.metadata}"
    default = None if about.is_required() else about.get_default(call_default_factory=True)
    described: dict[str, Any] = {"help": about.description, "metavar": _METAVARS.get(name)}
    flags = flags_of(name)
    if origin is Literal:
        described["type"] = click.Choice([str(choice) for choice in get_args(kind)])
        if name in ModelOptions.model_fields:  # Some problems refuse any value, so by default pass none.
            described["show_default"], default = str(default), None
    elif name.endswith("_s"):
        described |= {"type": seconds, "metavar": "SECONDS"}
        described["help"] = f"{about.description} Write 10, 10s, 500ms or 2min."
    elif origin in (list, dict, Mapping) or (origin is tuple and ... in get_args(kind)):
        described["multiple"], default = True, None
    elif "BeforeValidator" in checks:  # The field's validator parses the text, so click must pass it on unchanged.
        described["type"], default = str, None
        if name == "moves":  # The flag's value may be left out.
            described |= {"is_flag": False, "flag_value": PLAIN_MOVES}
    elif kind is int and str(MAX_BYTES) in checks:
        described |= {"type": size, "metavar": "SIZE"}
    elif kind is bool:
        described["is_flag"] = True
        flags = flags if name in SPELLED else (f"{flags[0]}/--no-{name.replace('_', '-')}",)
    described.setdefault("type", {int: integer, float: number, bool: bool}.get(kind, str))
    return Flag(name, *flags, default=default, **described)


def _plain_type(annotation: Any) -> Any:
    """Return a field's type without None and pydantic's metadata; `str` if the field accepts several types."""
    if get_origin(annotation) is Annotated:
        return _plain_type(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [_plain_type(kind) for kind in get_args(annotation) if kind is not type(None)]
        return kinds[0] if len(kinds) == 1 else str
    return annotation


def size(text: str | int) -> int:
    """Return the number of bytes that a size such as `4096`, `64kB` or `1MiB` spells; raises BadParameter."""
    try:
        return parse_size(str(text))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


TABLE, BROWSER = "table", "page"
"""The output formats for people: a table, and a table together with a page in the browser."""
SUFFIXES = " or ".join(module.SUFFIX for module in FORMATS.values())

QUIET = Flag("quiet", "--quiet", "-q", is_flag=True, help="Print no progress and no notes, only errors.")
SERVER = Flag(
    "server",
    metavar="URL",
    envvar="MEMPLAN_SERVER",
    help="Let the service at this address answer. The environment variable MEMPLAN_KEY holds its key.",
)
PROVE = Flag(
    "prove",
    is_flag=True,
    help="Accept the service's claim that a plan is the best, or that nothing fits, only with a certificate.",
)
# `main` handles --threads before click parses the command line, so the flag works for every command.
THREADS = Flag(
    "threads",
    type=RangeType(min=1),
    metavar="N",
    help="Use at most this many threads, including those of engines. [MEMPLAN_THREADS]",
)
ON = Flag(
    "on",
    metavar="ADDRESS",
    help="Let the machines of this cluster plan the files: dask://HOST:PORT or ray://HOST:PORT.",
)
SAVE_PLAN = Flag("save_plan", metavar="PLAN", help=f"Also write the plan to this file: {SUFFIXES}.")
SAVE_BASELINE = Flag(
    "save_baseline",
    metavar="FILE",
    help="Write the problem and the plan to this file as a baseline for later, whatever the check says.",
)
LIST_FORMAT = Flag(
    *("display", "--format"),
    type=click.Choice(("json", "table")),
    help="Write a table or JSON. The default is a table on a terminal, and JSON otherwise.",
)
STORE = Flag("store", metavar="URL", help="Use this database: postgresql://USER@HOST/NAME. [MEMPLAN_DATABASE_URL]")
