"""The questions of memplan: each is defined once and serves Python, the command, HTTP, jobs and clients."""

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from memplan.planner.extensions import extensions, import_object

if TYPE_CHECKING:
    from memplan.questions.question import Question


class Row(NamedTuple):
    """A row of the table of questions: the facts about a question that are known without importing it.

    question: where the question is, as `module:QUESTION`.
    panel: the heading under which the list of commands shows the question.
    document: the page in `docs` that describes the question.
    former: maps the question's former names, and names from other tools, to the commands that replace them.
    help: the question's sentence in the list of commands.
    deprecated: the version that deprecated it, and its replacement: "since 1.2, write `memplan plan --heaps`".
    """

    question: str
    panel: str = "Plan"
    document: str = "plan.md"
    former: Mapping[str, str] = MappingProxyType({})
    help: str = ""
    deprecated: str = ""


class Command(NamedTuple):
    """A command that an extension adds.

    command: where the `click.Command` is, as `module:NAME`; it may be a group of commands.
    help, panel: the command's sentence in the list of commands, and its heading; empty if a question's row has them.
    """

    command: str
    help: str = ""
    panel: str = ""


OWN_ROWS: Mapping[str, Row] = {
    "plan": Row(
        "memplan.questions.plan.plan:QUESTION",
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
        "memplan.questions.explain.explain:QUESTION",
        document="explanations.md",
        former={
            **dict.fromkeys(("repair", "repairs"), "explain --repairs"),
            **dict.fromkeys(("what-if", "whatif"), "explain --what-if"),
        },
        help="Explain why a problem does not fit: name a few buffers and rules that cannot all be met, each of which"
        " is needed.",
    ),
    "verify": Row(
        "memplan.questions.verify.verify:QUESTION",
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
        "memplan.questions.check.check:QUESTION",
        document="builds.md",
        former={"diff": "check --differences"},
        help="Check what a plan uses against budgets and a baseline, and name the buffers that made a peak grow.",
    ),
    "sweep": Row(
        "memplan.questions.sweep.combinations:QUESTION",
        former={"scenarios": "sweep --changes"},
        help="Plan a problem for many sizes of its pools, alignments and changes, and show what each of them is worth.",
    ),
    "certify": Row(
        "memplan.questions.certify.certify:QUESTION",
        document="certificates.md",
        former={"certificate": "certify"},
        help="Write a certificate that a plan is the best, or that nothing fits, which can be checked without memplan.",
    ),
}
"""The table rows of the questions about buffers and pools, by question name."""


@cache
def question_rows() -> Mapping[str, Row]:
    """Return the rows of all questions by name: first questions about buffers and pools, then those of extensions."""
    return {**OWN_ROWS, **extensions("questions")}


@cache
def former_names() -> Mapping[str, str]:
    """Return, for each former name of a question, the command that replaces it."""
    return {former: words for row in question_rows().values() for former, words in row.former.items()}


class _Questions(Mapping[str, "Question[Any]"]):
    """All questions by name, as a mapping that imports a question when it is first looked up."""

    def __getitem__(self, name: str) -> "Question[Any]":
        """Import and return the question of this name."""
        found: Question[Any] = import_object(question_rows()[name].question)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(question_rows())

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(question_rows())


QUESTIONS = _Questions()
