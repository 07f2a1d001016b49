"""Questions: each question that memplan answers, defined once for Python, the command, HTTP, jobs and clients."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from memplan.planner.extensions import extensions, import_object

if TYPE_CHECKING:
    from memplan.questions.question import Question


class Row(NamedTuple):
    """A row of the table of questions: the facts about a question that are known before it is imported.

    load: imports it.
    panel: where the list of commands has it.
    document: the page in `docs` about it.
    former: from names that it had, or has elsewhere, to the command that answers them.
    help: its sentence in the list of commands.
    deprecated: since which version it is, and what takes its place: "since 1.2, write `memplan plan --heaps`".
    """

    load: Callable[[], "Question[Any]"]
    panel: str = "Plan"
    document: str = "plan.md"
    former: Mapping[str, str] = MappingProxyType({})
    help: str = ""
    deprecated: str = ""


class Command(NamedTuple):
    """A command that an extension brings.

    load: imports the `click.Command` of a name, which may be a group of commands.
    help: its sentence in the list of commands, and `panel` where that has it; those of a question are in its row.
    """

    load: Callable[[str], Any]
    help: str = ""
    panel: str = ""


class _ImportedFunction:
    """A row with one function, imported on first use; `where` is `module:function`."""

    __slots__ = ("where",)

    def __init__(self, where: str) -> None:
        self.where = where

    def load(self) -> Any:
        """Import the function."""
        return import_object(self.where)


class Cluster(_ImportedFunction):
    """Other machines that run command lines for several files.

    Its name in the table `clusters` is a scheme, such as `dask` in `--on dask://HOST:PORT`; its function runs command
    lines there.
    """


class Search(_ImportedFunction):
    """A function that an extension brings and the base calls by its name in the table `searches`."""


class View(_ImportedFunction):
    """A page of answers, which an extension writes."""


def _plan() -> "Question[Any]":
    from memplan.questions.plan.plan import QUESTION

    return QUESTION


def _explain() -> "Question[Any]":
    from memplan.questions.explain.explain import QUESTION

    return QUESTION


def _verify() -> "Question[Any]":
    from memplan.questions.verify.verify import QUESTION

    return QUESTION


def _check() -> "Question[Any]":
    from memplan.questions.check.check import QUESTION

    return QUESTION


def _sweep() -> "Question[Any]":
    from memplan.questions.sweep.combinations import QUESTION

    return QUESTION


def _certify() -> "Question[Any]":
    from memplan.questions.certify.certify import QUESTION

    return QUESTION


_OWN: Mapping[str, Row] = {
    "plan": Row(
        _plan,
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
        _explain,
        document="explanations.md",
        former={
            **dict.fromkeys(("repair", "repairs"), "explain --repairs"),
            **dict.fromkeys(("what-if", "whatif"), "explain --what-if"),
        },
        help="Explain why a problem does not fit: name a few buffers and rules that cannot all be met, each of which"
        " is needed.",
    ),
    "verify": Row(
        _verify,
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
        _check,
        document="builds.md",
        former={"diff": "check --differences"},
        help="Check what a plan uses against budgets and a baseline, and name the buffers that made a peak grow.",
    ),
    "sweep": Row(
        _sweep,
        former={"scenarios": "sweep --changes"},
        help="Plan a problem for many sizes of its pools, alignments and changes, and show what each of them is worth.",
    ),
    "certify": Row(
        _certify,
        document="certificates.md",
        former={"certificate": "certify"},
        help="Write a certificate that a plan is the best, or that nothing fits, which can be checked without memplan.",
    ),
}
"""The questions about buffers and pools by name."""


@cache
def question_rows() -> Mapping[str, Row]:
    """Return all questions by name: about buffers and pools, and of extensions."""
    return {**_OWN, **extensions("questions")}


def search(name: str) -> Any:
    """Return the function of a search that an extension brings."""
    return extensions("searches")[name].load()


@cache
def former_names() -> Mapping[str, str]:
    """Return the commands that answer former names of questions."""
    return {former: words for row in question_rows().values() for former, words in row.former.items()}


class _Questions(Mapping[str, "Question[Any]"]):
    """The questions themselves by name; each is imported when it is asked for."""

    def __getitem__(self, name: str) -> "Question[Any]":
        return question_rows()[name].load()

    def __iter__(self) -> Iterator[str]:
        return iter(question_rows())

    def __len__(self) -> int:
        return len(question_rows())


QUESTIONS = _Questions()
