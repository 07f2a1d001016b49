"""Names and constants that are valid both in C and in linker scripts."""

import re
from collections import Counter
from collections.abc import Iterable

from memplan.planner import __version__
from memplan.planner.errors import OptionError, excerpt, shorten
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.problem import Problem

_FOREIGN = re.compile(r"[^0-9A-Za-z_]")
_LONGEST = 100
"""The maximum length of a name: fused operations have long names, and long symbols slow some linkers."""


def identifiers(names: Iterable[int | str]) -> tuple[str, ...]:
    """Return a unique C identifier of letters, digits and underscores for each name; it may begin with a digit.

    Valid names are unchanged. If several other names become equal, all but the first get numbers.
    """
    names = tuple(names)
    plain_names = [shorten(_FOREIGN.sub("_", str(name)), _LONGEST, "__") for name in names]
    # Valid names are unchanged, so every changed name must differ from all valid names.
    unchanged = {plain for name, plain in zip(names, plain_names, strict=True) if name == plain}
    taken: set[str] = set()
    last: Counter[str] = Counter()
    for k, (name, plain) in enumerate(zip(names, plain_names, strict=True)):
        mine = plain
        while mine in taken or (mine in unchanged and name != mine):
            last[plain] += 1
            mine = f"{plain}_{last[plain] + 1}"
        taken.add(mine)
        plain_names[k] = mine
    return tuple(plain_names)


def prefix_of(stem: str) -> str:
    """Return the prefix of all names in an exported file: the file name without suffix, as an identifier."""
    plain = identifiers([stem])[0].lower()
    return plain if plain[:1].isalpha() else f"memplan_{plain}"


def include_of(stem: str) -> str:
    """Return the #include line of the header; raises OptionError if C cannot include a file of this name."""
    if not stem.isprintable() or '"' in stem or "\\" in stem:
        raise OptionError(f"output: must have a name that C can include, got {excerpt(stem)}")
    return f'#include "{stem}.h"\n'


def origin_sentence(problem: Problem) -> str:
    """Return the sentence at the top of an exported file: memplan's version, the problem's name, and its hash."""
    name = f" of {comment_text(problem.name)}" if problem.name else ""
    return f"Written by memplan {__version__}: a plan{name}, {problem_hash(problem)}."


def comment_text(value: object) -> str:
    """Return a value as text that cannot begin or end a comment in C or in a linker script."""
    return excerpt(value).replace("*/", "* /").replace("/*", "/ *")


def constant(value: int) -> str:
    """Return an unsigned C constant; C gives it the smallest unsigned type, from int on, that can represent it."""
    return f"{value}u"


def add_include_guard(header: str, prefix: str) -> str:
    """Return a header with an include guard and C linkage. It can be included repeatedly, and from C++."""
    guard = f"{prefix.upper()}_H"
    body = f'#ifdef __cplusplus\nextern "C" {{\n#endif\n\n{header}\n#ifdef __cplusplus\n}}\n#endif\n'
    return f"#ifndef {guard}\n#define {guard}\n\n{body}\n#endif\n"
