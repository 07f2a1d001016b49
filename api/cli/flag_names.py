"""The spelling of option fields as command-line flags."""

import shlex

from memplan.planner.errors import Option

SPELLED = {
    "barriers": ("--barrier",),
    "capacity": ("--capacity", "--pool"),
    "inclusive": ("--inclusive/--half-open",),
    "budgets": ("--budget",),
    "dims": ("--dim",),
    "display": ("--format",),
    "kinds": ("--kind",),
    "pools": ("--pool",),
    "sizes": ("--size",),
}
"""The flags of the fields whose spelling no general rule gives."""


def flags_of(name: str) -> tuple[str, ...]:
    """Return an option field's flags, such as `--time-limit` for `time_limit_s`: the first is the usual spelling."""
    if name in SPELLED:
        return SPELLED[name]
    if name.endswith("_s"):
        name = name.removesuffix("_s").removesuffix("_limit") + "_limit"
    return (f"--{name.replace('_', '-')}",)


def flag_text(option: Option) -> str:
    """Return an option as typed, such as `--target hvx`; without a value, `target`, to begin an error sentence."""
    flag = flags_of(option.field)[0].partition("/")[0]
    if option.value is None:
        return flag.removeprefix("--")
    return f"{flag} {shlex.quote(option.value)}" if option.value else flag
