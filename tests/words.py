"""The gate's check of words: `docs/glossary.md` and the "Words" of other pages are the law; this finds what breaks it.

It lists five things: words that they mark with `!`; verbs for which the field has better ones; names without a noun;
functions that are too long or take too many parameters; class names that the product defines twice.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = "docs/glossary.md"
ABOVE = ("programs/", "runtimes/", "extensions/")
PRODUCT = ("checkers/", "planner/", "solvers/", "questions/", "api/", "memplan/", *ABOVE)
PROSE = ("docs/", "CONTRIBUTING.md", "README.md")
FREE = (GLOSSARY, "docs/decisions/")  # the list itself; decisions may name what a thing was called before
PUBLIC = re.compile(r"lease_owner|jobs_by_owner|OWNER/|[`\"{,]r[u]ng[`\"},]|[Ss]ingle[_ ]fl[i]ght")
"""Columns of the database, labels of metrics, names of hosts, and a term of the field: they keep their words."""
VERBS_BIND = ("planner/", "solvers/", "docs/")
"""Folders in which the glossary's verbs are enforced."""
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
"""The code of a page, with names that callers know."""
COMPONENTS = {"Progress"}  # classes named after components of `/openapi.json`, which clients know
_BARE = """
about above across after again against ahead alike all almost alone along already also always among and anew
another any anything apart around as aside at away backward backwards because become before begun behind below
bent beside besides between beyond both briefly broken brought built but by came chosen despite done down drawn
driven during each either elsewhere enough ever every everything everywhere except fallen few fewer fewest for
forgiven forgotten found from frozen given gone got grown held here how if in inside instead into it its just
kept known laid later least led left less like lost made many meant meanwhile met more most much near nearly
neither never none nothing now nowhere of off on once one ones onto or other others ours out outside over
overwritten own paid past per plainly ran rather remade rewritten risen said same seen sent several shown since
slowly some something soon spent spoken still stolen such sworn taken than that then there these this those
through thrown thus to together told too took torn toward twice under understood undone until up upon via well
what when where whether which while who whom whose why with withdrawn within without worn written wrote yet
"""
BARE = frozenset(_BARE.split())
"""Words that name nothing, alone or first: prepositions, adverbs, pronouns, participles."""
CONSTRUCTOR = "from_"
MOST_BARE_FIRST = 40
BARE_EXCEPTIONS = {
    # Components of `/openapi.json` and parts of written answers, whose schemas callers know.
    *("Again", "Enough", "Held", "Left", "Others", "sent"),
    # A method that torch calls, and names of attributes that other classes have too.
    *("backward", "after", "all", "below", "chosen"),
}
"""Bare names that are allowed, grouped by reason."""
MOST_LINES = 60
MOST_PARAMETERS = 7
WAYS_IN = {"solve"}
"""Public functions that may take many parameters, so that help() lists all options."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> int:
    """Print each finding and return 1 if there are any; with `-o`, print only their number and return 0."""
    files = {name: (ROOT / name).read_text(encoding="utf-8") for name in _checked_files()}
    product = {
        name: ast.parse(text)
        for name, text in files.items()
        if name.endswith(".py") and name.startswith(PRODUCT) and "/tests/" not in name
    }
    words, verbs = _laws()
    bound = {name: text for name, text in files.items() if name.startswith(VERBS_BIND)}
    prose = {name: remove_code(text) if name.endswith(".md") else remove_messages(text) for name, text in bound.items()}
    findings = [*_forbidden_words(files, words), *_forbidden_words(prose, verbs)]
    # Models of questions bear the names that users see; those of the studies below may have the same.
    below = {name: tree for name, tree in product.items() if not name.startswith(("checkers/", "questions/", *ABOVE))}
    findings += [*_sizes(product), *_classes(below)]
    trees = {name: product.get(name) or ast.parse(text) for name, text in files.items() if name.endswith(".py")}
    findings += _bare_names(trees)
    report = "-o" in sys.argv
    print(*([] if report else findings), f"{len(findings)} findings about words", sep="\n")
    return 1 if findings and not report else 0


def forbidden(glossary: str) -> list[str]:
    """Return the words that the right column of the glossary's tables marks with `!`."""
    right = [line.rstrip(" |").rpartition("|")[2] for line in glossary.splitlines() if line.startswith("| ")]
    return sorted({word for cell in right for word in re.findall(r"([a-z][a-z' ]*)!", cell)})


def remove_code(page: str) -> str:
    """Return a page with its code blocks and inline code removed; line numbers stay the same."""
    return CODE.sub(lambda found: "\n" * found[0].count("\n"), page)


def remove_messages(module: str) -> str:
    """Return a module with its string literals removed except docstrings, because messages are checked elsewhere."""
    lines = module.splitlines(keepends=True)
    begins, messages = True, []
    for token in tokenize.generate_tokens(io.StringIO(module).readline):
        if token.type == tokenize.STRING and not begins:
            messages.append((token.start, token.end))
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    for (row, column), (end, end_column) in reversed(messages):
        lines[row - 1 : end] = [lines[row - 1][:column] + "\n" * (end - row) + lines[end - 1][end_column:]]
    return "".join(lines)


def remove_words_section(page: str) -> str:
    """Return a page with the lines of its section "Words" blanked."""
    head, heading, rest = page.partition("\n## Words\n")
    body, following, tail = rest.partition("\n## ")
    return head + heading + "\n" * body.count("\n") + following + tail


def words_of(line: str) -> str:
    """Return a line in lower case with identifiers split: `HTTPServer.run_all` becomes `http server.run all`."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", line)
    return re.sub(r"[_-]+", " ", parted).lower()


def _checked_files() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "*.py", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True)
    bound = (*PRODUCT, *PROSE, "lab/", "tests/")
    return [name for name in listed.stdout.splitlines() if name.startswith(bound) and not name.startswith(FREE)]


def _laws() -> tuple[list[str], list[str]]:
    """Return the forbidden words, of the glossary and of the pages' own sections, and the forbidden verbs."""
    nouns, _, rest = (ROOT / GLOSSARY).read_text(encoding="utf-8").partition("\n## Verbs\n")
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md") if page.name != "glossary.md"]
    own = [page.partition("\n## Words\n")[2].partition("\n## ")[0] for page in pages]
    return forbidden("\n".join([nouns, *own])), forbidden(rest)


def _forbidden_words(files: dict[str, str], words: list[str]) -> Iterator[str]:
    pattern = re.compile(rf"\b({'|'.join(words)})(e?s)?\b")
    for name, text in files.items():
        for number, line in enumerate((remove_words_section(text) if name.endswith(".md") else text).splitlines(), 1):
            for word in sorted({match[1] for match in pattern.finditer(words_of(PUBLIC.sub(" ", line)))}):
                yield f"{name}:{number}: the glossary forbids {word!r}"


def _sizes(trees: dict[str, ast.Module]) -> Iterator[str]:
    """Yield the functions that are too long or take too many parameters (commands may)."""
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, Definition):
                continue
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MOST_LINES:
                yield f"{name}:{node.lineno}: {node.name} has {lines} lines, {MOST_LINES} are allowed"
            taken = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            count = len([parameter for parameter in taken if parameter.arg not in ("self", "cls")])
            if count > MOST_PARAMETERS and node.name not in WAYS_IN and not re.search(r"^api/cli/|/command\.py$", name):
                yield f"{name}:{node.lineno}: {node.name} takes {count} parameters, {MOST_PARAMETERS} are allowed"


def _bare_names(trees: dict[str, ast.Module]) -> list[str]:
    """Return the functions and classes with bare names, except listed exceptions and a limited number of others."""
    alone: list[str] = []
    first: list[str] = []
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, Definition | ast.ClassDef) or node.name.startswith(("__", CONSTRUCTOR)):
                continue
            if node.name.lower().strip("_").split("_")[0] in BARE and node.name not in BARE_EXCEPTIONS:
                finding = f"{name}:{node.lineno}: {node.name} has no noun"
                (first if "_" in node.name.strip("_") else alone).append(finding)
    return [*alone, *(first if len(first) > MOST_BARE_FIRST else [])]


def _classes(trees: dict[str, ast.Module]) -> Iterator[str]:
    """Yield the names of public classes that are defined more than once."""
    places = defaultdict(list)
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{name}:{node.lineno}")
    for name, defined in sorted(places.items()):
        if len(defined) > 1 and name not in COMPONENTS:
            yield f"{', '.join(defined)}: class {name} is defined {len(defined)} times"


if __name__ == "__main__":
    sys.exit(main())
