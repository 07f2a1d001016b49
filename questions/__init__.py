"""Capabilities: each question that memplan answers, defined once for Python, the command, HTTP, jobs and clients."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from memplan.planner.extensions import extensions, imported


class Row(NamedTuple):
    """A row of the table of questions: everything about one question outside of its folder.

    module: the module of `package` that has it as `CAPABILITY`.
    names: the names that `memplan` offers with a question of a distribution, beside its function and its options, each
        with its module there; `memplan/__init__.py` has those of its own.
    command: the module with what its command alone has, as `LOCAL`.
    panel: where the list of commands has it.
    document: the page in `docs` about it.
    former: from names that it had, or has elsewhere, to the command that answers them.
    files: from endings of files that `memplan plan` writes beside a plan, to the function of `command` that does so.
    package: the package that it is in; a distribution hands out a row by an entry point of `memplan.questions`.
    help: its sentence in the list of commands.
    deprecated: since which version it is, and what takes its place: "since 1.2, write `memplan plan --heaps`".
    """

    module: str
    names: Mapping[str, str] = MappingProxyType({})
    command: str | None = None
    panel: str = "Plan"
    document: str = "plan.md"
    former: Mapping[str, str] = MappingProxyType({})
    files: Mapping[str, str] = MappingProxyType({})
    package: str = __name__
    help: str = ""
    deprecated: str = ""

    @property
    def where(self) -> str:
        """The module that has it as `CAPABILITY`."""
        return f"{self.package}.{self.module}"


class Command(NamedTuple):
    """A command that is no question's, which an extension brings.

    where: `module:name` of a `click.Command`, which may be a group of commands; imported where it runs.
    help: its sentence in the list of commands.
    panel: where the list of commands has it.
    """

    where: str
    help: str
    panel: str

    def load(self) -> Any:
        """Import the command."""
        return imported(self.where)


class _Imported:
    """A row with one function, imported on first use; `where` is `module:function`."""

    __slots__ = ("where",)

    def __init__(self, where: str) -> None:
        self.where = where

    def load(self) -> Any:
        """Import the function."""
        return imported(self.where)


class Cluster(_Imported):
    """Other machines that run command lines for several files.

    The entry point's name is a scheme, such as `dask` in `--on dask://HOST:PORT`; its function runs command lines
    there.
    """


class Search(_Imported):
    """A search that a distribution provides.

    The entry point `recompute` searches for programs in which operations run again: `(graph, options, control)` to an
    `OrderAnswer`; `objects` for shared objects: what `memplan.questions.plan.objects` gives it.
    """


class View(_Imported):
    """A page of answers that a distribution writes."""


_OWN: Mapping[str, Row] = {
    "plan": Row(
        "plan.plan",
        command="memplan.api.cli.local.plan",
        former={
            **dict.fromkeys(("allocate", "optimize", "objects"), "plan"),
            "solve": "plan",
            "replan": "plan --keep",
            "heaps": "plan --heaps",
            "look": "plan -o plan.html",
        },
        help="Plan a problem: give every buffer a pool and an offset, and prove that the plan is the best or report"
        " the gap.",
    ),
    "explain": Row(
        "explain.explain",
        command="memplan.api.cli.local.explain",
        document="explanations.md",
        former={
            **dict.fromkeys(("repair", "repairs"), "explain --repairs"),
            **dict.fromkeys(("what-if", "whatif"), "explain --what-if"),
        },
        help="Explain why a problem does not fit: name a few buffers and rules that cannot all be met, each of which"
        " is needed.",
    ),
    "verify": Row(
        "verify.verify",
        command="memplan.api.cli.local.verify",
        document="verify.md",
        former={
            "validate": "verify",
            "audit": "verify --better",
            "inspect": "verify --places",
            "replay": "verify --again",
        },
        help="Verify a plan: report every violation, with both buffers, the bytes and the time, and every claim that"
        " is wrong.",
    ),
    "check": Row(
        "check.check",
        command="memplan.api.cli.local.check",
        document="builds.md",
        former={"diff": "check --differences"},
        help="Check what a plan uses against budgets and a baseline, and name the buffers that made a peak grow.",
    ),
    "sweep": Row(
        "sweep.combinations",
        command="memplan.api.cli.local.sweep",
        former={"scenarios": "sweep --changes"},
        help="Plan a problem for many sizes of its pools, alignments and changes, and show what each of them is worth.",
    ),
    "certify": Row(
        "certify.certify",
        command="memplan.api.cli.local.certify",
        document="certificates.md",
        former={"certificate": "certify"},
        files={".proof": "certified_plan"},
        help="Write a certificate that a plan is the best, or that nothing fits, which can be checked without memplan.",
    ),
}
"""The questions about buffers and pools by name."""


@cache
def questions() -> Mapping[str, Row]:
    """Return all questions by name: about buffers and pools, and of extensions."""
    return {**_OWN, **extensions("questions")}


def search(name: str) -> Any:
    """Return the function of a search that an extension brings."""
    return extensions("searches")[name].load()


@cache
def former_names() -> Mapping[str, str]:
    """Return the commands that answer former names of questions."""
    return {former: words for row in questions().values() for former, words in row.former.items()}
