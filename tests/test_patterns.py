"""Patterns that read a caller's text take time in proportion to it, whatever the text is."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
_FOLDERS = ("planner", "solvers", "questions", "api", "extensions")
_METHODS = ("search", "match", "fullmatch", "sub", "finditer", "findall", "split")
_REPEATED = [*'\n\t "\\{}()[]<>a0_.,:%#/-=x', "0x", "a.", "a,", "a ", '"a', "\n ", " \n", "(a", "%a", "-1", "//", '\\"']
_REPEATED += ["a\n", '"\n', "%a, ", "a=", "::", "..", "a b ", "/*", "0,"]
_SHORT, _LONG = 4_096, 16_384
_MOST_S, _LIMIT_S = 0.05, 0.5
"""The CPU seconds that 16 KB may take, where a linear pattern needs 0.002; and those after which a try ends."""


def patterns() -> dict[str, tuple[Any, set[str]]]:
    """Return the patterns of modules by their names, with the methods by which they are used."""
    files = [path for folder in _FOLDERS for path in sorted((ROOT / folder).rglob("*.py")) if "tests" not in path.parts]
    texts = {path: path.read_text() for path in files}
    found: dict[str, tuple[Any, set[str]]] = {}
    for path, text in texts.items():
        names = re.findall(r"^(_?[A-Z][A-Z_]*)(?:: .*)? = re\.compile\(", text, re.MULTILINE)
        if not names:
            continue
        parts = path.relative_to(ROOT).with_suffix("").parts
        name_of_module = ".".join(("memplan", *parts))
        module = import_module(name_of_module)
        for name in names:
            readers = [text, *(other for other in texts.values() if name_of_module in other and name in other)]
            used = {how for how in _METHODS if any(f"{name}.{how}(" in reader for reader in readers)}
            found[f"{name_of_module}:{name}"] = (getattr(module, name), used)
    return found


def texts_for(pattern: str) -> Iterator[str]:
    """Yield the texts whose repetition may make a pattern slow: signs, and the words in the pattern."""
    yield from _REPEATED
    for word in re.findall(r"[A-Za-z_]{3,}", pattern)[:6]:
        yield from (word, f"{word} ", f"{word}(", f"{word}<", f"{word}.")


def seconds(use: Callable[[Any], Any], text: Any) -> float:
    """Return the CPU seconds of a use of a pattern, at most until it is given up."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, give_up)
    began = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, _LIMIT_S)
    try:
        found = use(text)
        for _ in found if isinstance(found, Iterator) else ():
            pass
    except TimeoutError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - began


def slow_texts(pattern: Any, methods: set[str]) -> list[str]:
    """Return a sentence for each method and repeated text with which a pattern is slow."""
    is_bytes, found = isinstance(pattern.pattern, bytes), []
    source = pattern.pattern.decode("latin1") if is_bytes else pattern.pattern
    for method in sorted(methods):
        use = getattr(pattern, method)
        if method == "sub":
            use = lambda text, p=pattern: p.sub(b"" if is_bytes else "", text)  # noqa: E731
        for each in texts_for(source):
            for size in (_SHORT, _LONG):
                text = each * (size // len(each)) + "!"
                taken = seconds(use, text.encode() if is_bytes else text)
                if taken < _MOST_S * size / _LONG / 4:  # far from it
                    break
            if size == _LONG and taken > _MOST_S:
                found.append(f"{method} of {each!r}: {taken:.2f} s")
    return found


PATTERNS = patterns()


@pytest.mark.parametrize("name", PATTERNS)
def test_regular_expressions_take_time_linear_in_their_text(name: str) -> None:
    pattern, methods = PATTERNS[name]
    assert slow_texts(pattern, methods) == []


def test_a_quadratic_regular_expression_is_detected() -> None:
    assert slow_texts(re.compile(r"^\s*(//|#)", re.MULTILINE), {"search"})
    assert len(PATTERNS) > 80
