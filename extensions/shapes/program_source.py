"""Source code of offset programs: a generated function from the values of the symbols to the peak and all offsets."""

import keyword
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from memplan.extensions.shapes.offset_programs import OffsetPrograms, Terms
from memplan.programs.operations.graph_facts import TensorRole
from memplan.programs.symbols.polynomials import Monomial, Polynomial
from memplan.programs.symbols.sized import CompiledSizes
from memplan.programs.symbols.space import Floor

_C_HEAD = """\
/* Offsets of {count} buffers for all values of {names}, by memplan.
 * plan() fills off[{count}] and returns the peak in bytes; -1 where a size or a sum does not fit 63 bits, or a value is
 * out of its range. It allocates nothing. The tensor plan_tensors[k].name lies at off[plan_tensors[k].at]. */
#include <stdint.h>

struct plan_tensor {{ const char *name; int at; const char *role; }};
{tensors}

static inline int64_t mul(int64_t a, int64_t b, int *bad) {{
    int64_t r; *bad |= __builtin_mul_overflow(a, b, &r); return r;
}}
static inline int64_t add(int64_t a, int64_t b, int *bad) {{
    int64_t r; *bad |= __builtin_add_overflow(a, b, &r); return r;
}}
static inline int64_t larger(int64_t a, int64_t b) {{ return a > b ? a : b; }}
static inline int64_t over(int64_t a, int64_t d) {{ int64_t q = a / d; return q - (a % d < 0); }}
"""


_TAKEN = re.compile(r"(_|[sam]\d+$|p\d+_)|(off|bad|v|i|plan|mul|add|larger|over|max|min|run|which\d+|u?int\d+_t)$")
"""The names that the generated function uses for its own variables and calls."""
_KEPT = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"""
"""The reserved words of the language C."""


def argument(name: str) -> str:
    """Return the argument name of a symbol in generated code; a name that is not free gets the prefix `x_`."""
    return f"x_{name}" if _TAKEN.match(name) or name in _KEPT.split() or keyword.iskeyword(name) else name


@dataclass(frozen=True)
class _Language:
    """A programming language, as functions that write names, operations and definitions in its syntax."""

    symbol: Callable[[str, int], str]
    sum: Callable[[Sequence[str]], str]
    product: Callable[[Sequence[str]], str]
    floor: Callable[[str, int], str]
    largest: Callable[[Sequence[str]], str]
    define: Callable[[str, str], str]


def _fold_writer(operation: Callable[[str, str], str]) -> Callable[[Sequence[str]], str]:
    return lambda terms: reduce(operation, terms) if terms else "0"


def _call_writer(name: str) -> Callable[[Sequence[str]], str]:
    return lambda terms: f"{name}({', '.join(terms)})" if len(terms) > 1 else terms[0] if terms else "0"


_PYTHON = _Language(
    symbol=lambda name, divisor: name if divisor == 1 else f"({name} // {divisor})",
    sum=lambda terms: " + ".join(terms) or "0",
    product="*".join,
    floor=lambda inner, divisor: f"({inner}) // {divisor}",
    largest=_call_writer("max"),
    define=lambda name, expression: f"    {name} = {expression}",
)
_C = _Language(
    symbol=lambda name, divisor: name if divisor == 1 else f"({name} / {divisor})",
    sum=_fold_writer(lambda a, b: f"add({a}, {b}, &bad)"),
    product=_fold_writer(lambda a, b: f"mul({a}, {b}, &bad)"),
    floor=lambda inner, divisor: f"over({inner}, {divisor})",
    largest=_fold_writer(lambda a, b: f"larger({a}, {b})"),
    define=lambda name, expression: f"    int64_t {name} = {expression};",
)


class _Writer:
    """The writer of a generated function: first the sizes, with shared subexpressions, then each program's values."""

    def __init__(self, sized: CompiledSizes, found: OffsetPrograms, language: _Language) -> None:
        """Start without lines; `language` has the syntax of the generated code."""
        self.sized, self.found, self.language = sized, found, language
        self.atoms: dict[str, str] = {}
        self.products: dict[Monomial, str] = {}
        self.written: list[str] = []

    def lines(self) -> list[str]:
        """Return the lines that compute the sizes, and then the values and the peak of each program."""
        rows = [row for program in self.found.programs for row in (*program.values, program.last)]
        for i in sorted({size for row in rows for _, size in row}):
            self.written.append(self.language.define(f"s{i}", self._write_polynomial(self.sized.forms[i])))
        for k, program in enumerate(self.found.programs):
            for i, terms in enumerate(program.values):
                self.written.append(self.language.define(f"p{k}_v{i}", self._write_maximum(terms, k)))
            self.written.append(self.language.define(f"p{k}_peak", self._write_maximum(program.last, k)))
        return self.written

    def _write_maximum(self, terms: Terms, program: int) -> str:
        sums = [self.language.sum([f"p{program}_v{value}", f"s{size}"]) for value, size in terms]
        return self.language.largest(sums)

    def _write_polynomial(self, polynomial: Polynomial) -> str:
        terms = []
        for monomial, value in sorted(polynomial.items(), key=lambda item: (-len(item[0]), item[0])):
            factors = [self._shared_product(monomial)] if monomial else []
            terms.append(self.language.product([str(value), *factors] if value != 1 or not factors else factors))
        return self.language.sum(terms)

    def _shared_product(self, monomial: Monomial) -> str:
        if monomial not in self.products:
            text = self.language.product([self._write_factor(name) for name in monomial])
            self.products[monomial] = text
            if not text.isidentifier():
                self.products[monomial] = made = f"m{len(self.products)}"
                self.written.append(self.language.define(made, text))
        return self.products[monomial]

    def _write_factor(self, name: str) -> str:
        """Return a variable as source text; an atom (a floor or maximum) is assigned to a local variable first."""
        space = self.sized.space
        if name in space.symbols:
            return self.language.symbol(argument(name), space.symbols[name].multiple_of)
        if name not in self.atoms:
            atom = space.atoms[name]
            inner = self._write_polynomial(atom.inner)
            if isinstance(atom, Floor):
                text = self.language.floor(inner, atom.divisor)
            else:
                text = self.language.largest([inner, "0"])
            self.atoms[name] = made = f"a{len(self.atoms)}"
            self.written.append(self.language.define(made, text))
        return self.atoms[name]


def python_source(sized: CompiledSizes, found: OffsetPrograms) -> str:
    """Return the source code of a Python function `plan(b, n) -> (peak, offsets)`, which uses plain integers."""
    names = [argument(name) for name in sized.space.symbols]
    lines = [f"def plan({', '.join(names)}):", *(f"    {rule}" for rule in _range_checks(sized))]
    lines += _Writer(sized, found, _PYTHON).lines()
    lines.insert(0, f"AT = { {name: at for name, at, _ in _named_offsets(sized)} }\n")
    runs = [
        f"(p{k}_peak, [{', '.join(f'p{k}_v{value}' for value in program.which)}])"
        for k, program in enumerate(found.programs)
    ]
    best = runs[0] if len(runs) == 1 else f"min({', '.join(runs)}, key=lambda run: run[0])"
    return "\n".join([*lines, f"    return {best}", ""])


def _range_checks(sized: CompiledSizes) -> Iterator[str]:
    """Yield lines of Python that raise ValueError if a symbol is outside of its range."""
    for limits, symbol in sized.space.symbols.items():
        name = argument(limits)
        upper = "" if symbol.max is None else f" <= {symbol.max}"
        divided = f" or {name} % {symbol.multiple_of}" if symbol.multiple_of > 1 else ""
        yield f"if not {symbol.min} <= {name}{upper}{divided}:"
        yield f'    raise ValueError(f"{name}: {{{name}}}")'


def _named_offsets(sized: CompiledSizes) -> Iterator[tuple[str, int, TensorRole]]:
    at = {buffer.id: i for i, buffer in enumerate(sized.problem.buffers)}
    for tensor in sized.problem.tensors:
        if tensor.buffer is not None:
            yield tensor.name, at[tensor.buffer], tensor.role
    for name, i in at.items() if not sized.problem.tensors else ():
        yield str(name), i, "activation"


def _tensors_in_c(sized: CompiledSizes) -> Iterator[str]:
    """Yield lines of C: a table of tensors, and a constant `PLAN_AT_x` for each name x that is unique in C."""
    rows = list(_named_offsets(sized))
    words = [re.sub(r"\W", "_", name, flags=re.ASCII) for name, _, _ in rows]
    counts = Counter(words)
    yield f"enum {{\n    PLAN_BUFFERS = {sized.count}, PLAN_TENSORS = {len(rows)},"
    for word, (_, at, _) in zip(words, rows, strict=True):
        if counts[word] == 1:
            yield f"    PLAN_AT_{word} = {at},"
    yield "};"
    yield f"const struct plan_tensor plan_tensors[{max(1, len(rows))}] = {{"
    yield from (f'    {{{_c_string(name)}, {at}, "{role}"}},' for name, at, role in rows or [("", 0, "activation")])
    yield "};"


def _c_string(text: str) -> str:
    plain = text.encode()
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in plain) + '"'


def c_source(sized: CompiledSizes, found: OffsetPrograms) -> str:
    """Return C99 source code of `int64_t plan(int64_t b, int64_t n, int64_t *off)`, with gcc's overflow builtins."""
    count, symbols = sized.count, sized.space.symbols
    names = ", ".join(symbols) or "no symbols"
    lines = [_C_HEAD.format(count=count, names=names, tensors="\n".join(_tensors_in_c(sized)))]
    for k, program in enumerate(found.programs):
        kind = "uint8_t" if len(program.values) <= 256 else "uint16_t"
        lines.append(f"static const {kind} which{k}[{max(1, count)}] = {{{','.join(map(str, program.which)) or '0'}}};")
    arguments = ", ".join([*(f"int64_t {argument(name)}" for name in symbols), "int64_t *off"])
    lines += ["", f"int64_t plan({arguments}) {{", "    int bad = 0;"]
    for limits, symbol in symbols.items():
        name = argument(limits)
        rules = [f"{name} < {symbol.min}"]
        rules += [f"{name} > {symbol.max}"] if symbol.max is not None else []
        rules += [f"{name} % {symbol.multiple_of}"] if symbol.multiple_of > 1 else []
        lines.append(f"    if ({' || '.join(rules)}) return -1;")
    lines += _Writer(sized, found, _C).lines()
    lines.append("    if (bad) return -1;")
    for k, program in enumerate(found.programs):
        others = [f"p{k}_peak {'<' if j < k else '<='} p{j}_peak" for j in range(len(found.programs)) if j != k]
        values = ", ".join(f"p{k}_v{i}" for i in range(len(program.values)))
        lines.append(f"    {'if (' + ' && '.join(others) + ') ' if others else ''}{{")
        lines.append(f"        const int64_t v[] = {{{values}}};")
        lines.append(f"        for (int i = 0; i < {count}; i++) off[i] = v[which{k}[i]];")
        lines.append(f"        return p{k}_peak;\n    }}")
    if len(found.programs) > 1:
        lines.append("    return -1;")
    return "\n".join([*lines, "}", ""])


SOURCES: Mapping[str, Callable[[CompiledSizes, OffsetPrograms], str]] = {"c": c_source, "python": python_source}
