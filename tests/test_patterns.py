"""Regular expressions applied to user input run in linear time on any text."""

import re
import signal
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
_FOLDERS = ("planner", "solvers", "questions", "api", "programs", "runtimes", "extensions")
_METHODS = ("search", "match", "fullmatch", "sub", "finditer", "findall", "split")
_REPEATED = [*'\n\t "\\{}()[]<>a0_.,:%#/-=x', "0x", "a.", "a,", "a ", '"a', "\n ", " \n", "(a", "%a", "-1", "//", '\\"']
_REPEATED += ["a\n", '"\n', "%a, ", "a=", "::", "..", "a b ", "/*", "0,"]
_SHORT, _LONG = 4_096, 16_384
_MOST_S, _LIMIT_S = 0.05, 0.5
"""CPU seconds: the maximum for 16 KB (a linear pattern needs 0.002), and the limit of one attempt."""


def patterns() -> dict[str, tuple[Any, set[str]]]:
    """Return the compiled patterns of all product modules by name, with the methods called on each."""
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
    """Yield texts whose repetition may make a pattern slow: common characters, and words of the pattern."""
    yield from _REPEATED
    for word in re.findall(r"[A-Za-z_]{3,}", pattern)[:6]:
        yield from (word, f"{word} ", f"{word}(", f"{word}<", f"{word}.")


def seconds(use: Callable[[Any], Any], text: Any) -> float:
    """Return the CPU seconds of applying a pattern to a text, stopped at the limit of one attempt."""

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
    """Return a message for each method and repeated text on which a pattern is slow."""
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
                if taken < _MOST_S * size / _LONG / 4:  # clearly fast enough, so skip longer texts
                    break
            if size == _LONG and taken > _MOST_S:
                found.append(f"{method} of {each!r}: {taken:.2f} s")
    return found


PATTERNS = patterns()


@pytest.mark.parametrize("name", PATTERNS)
def test_regular_expressions_of_the_product_run_in_linear_time(name: str) -> None:
    pattern, methods = PATTERNS[name]
    assert slow_texts(pattern, methods) == []


def test_the_pattern_check_detects_a_quadratic_regular_expression() -> None:
    assert slow_texts(re.compile(r"^\s*(//|#)", re.MULTILINE), {"search"})
    assert len(PATTERNS) > 80
