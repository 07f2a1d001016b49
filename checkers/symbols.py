"""Converter of size expressions over symbols to forms (polynomials), with exact bounds on the values of forms."""

import ast, math, sys
from fractions import Fraction
from importlib import import_module
from itertools import product
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
forms = import_module(f"{__package__ or ''}.forms".lstrip("."))
add, multiply, whole, form_key, substitute = (
    forms.add,
    forms.multiply,
    forms.constant_value,
    forms.form_key,
    forms.substitute,
)
no_less_than_0, in_whole_numbers = forms.no_less_than_0, forms.integer_multiple

MOST_FORMS = 2000
FUNCTIONS = {"min": "min", "Min": "min", "max": "max", "Max": "max", "floor_div": "//", "FloorDiv": "//"}
FUNCTIONS |= {"ceil_div": "ceil", "CeilDiv": "ceil", "align": "align"}


Refused, Undecided = (type(name, (Exception,), {}) for name in ("Refused", "Undecided"))
"""Refused: the proof is wrong. Undecided: the limits on boxes, forms or time prevent a proof and a refutation."""


class Symbols:
    """The symbols of a problem's sizes, and its atoms (names for quotients and maxima in the sizes).

    The value of a symbol is counted in steps of `multiple_of`. An atom is a name, such as @3, for a floor(p / d) or a
    max(p, 0).
    """

    def __init__(self, rows, is_over=lambda: False):
        """Read the ranges of symbols. Raises ValueError for malformed ranges and for ranges without a value."""
        self.is_over = is_over
        self.step, self.box, self.atoms, self.known = {}, {}, {}, {}
        for name, row in rows.items():
            if set(row) - {"min", "max", "multiple_of"} or not name.isidentifier():
                raise ValueError(f"symbol {name}: must be an identifier with only min, max and multiple_of")
            low, high, step = row.get("min", 1), row.get("max"), row.get("multiple_of", 1)
            if any(type(each) is not int or each < 0 for each in (low, step, 0 if high is None else high)):
                raise ValueError(f"symbol {name}: min, max and multiple_of must be integers of at least 0")
            self.step[name], self.box[name] = step, (-(-low // step), None if high is None else high // step)
            if high is not None and self.box[name][0] > self.box[name][1]:
                raise ValueError(f"symbol {name}: must have a value between min and max")
        self.signs, self.lowered = {}, {}
        self.points = [dict(zip(self.box, row)) for row in product(*map(_sample_values, self.box.values()))][:81]

    def read(self, text):
        """Return the form (polynomial) of an expression, given as text such as `4*n + 2`."""
        return self._read_tree(ast.parse(str(text).strip(), mode="eval").body)

    def _read_tree(self, tree):
        """Return the form (polynomial) of a syntax tree. Raises ValueError for an unsupported operator."""
        if isinstance(tree, ast.Constant) and type(tree.value) is int:
            return {(): tree.value} if tree.value else {}
        if isinstance(tree, ast.Name):
            return {(tree.id,): self.step[tree.id]}
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, (ast.USub, ast.UAdd)):
            return add({}, self._read_tree(tree.operand), -1 if isinstance(tree.op, ast.USub) else 1)
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and not tree.keywords:
            return self._apply_function(FUNCTIONS[tree.func.id], [self._read_tree(each) for each in tree.args])
        if not isinstance(tree, ast.BinOp):
            raise ValueError(f"an expression must consist of integers, symbols and calls, got {ast.unparse(tree)}")
        left, right, kind = self._read_tree(tree.left), self._read_tree(tree.right), type(tree.op)
        if kind in (ast.Add, ast.Sub):
            return add(left, right, 1 if kind is ast.Add else -1)
        if kind is ast.Mult:
            return multiply(left, right)
        if kind is ast.FloorDiv:
            return self.floor(left, whole(right))
        if kind is ast.Mod:
            return add(left, self.floor(left, whole(right)), -whole(right))
        if kind is ast.Div and not any(value % whole(right) for value in left.values()):
            return {names: value // whole(right) for names, value in left.items()}
        if kind is ast.Pow and 0 <= whole(right) <= 16:
            form = {(): 1}
            for _ in range(whole(right)):
                form = multiply(form, left)
            return form
        raise ValueError(f"an expression must be a polynomial or an exact quotient, got {ast.unparse(tree)}")

    def _apply_function(self, function, parts):
        """Return the form (polynomial) of a function of forms, such as min, max or align."""
        if function in ("min", "max"):
            sign = 1 if function == "max" else -1
            first, *others = sorted((add({}, each, sign) for each in parts), key=lambda form: sorted(form.items()))
            for each in others:
                first = add(first, self.positive_part(add(each, first, -1)))
            return add({}, first, sign)
        dividend, divisor = parts[0], whole(parts[1])
        if function == "//":
            return self.floor(dividend, divisor)
        quotient = self.floor(add(dividend, {(): divisor - 1}), divisor)
        return quotient if function == "ceil" else multiply(quotient, {(): divisor})

    def floor(self, form, divisor):
        """Return the form (polynomial) of floor(form / divisor); multiples of the divisor stay outside of the floor."""
        if divisor < 1:
            raise ValueError("a divisor must be at least 1")
        out = {names: value // divisor for names, value in form.items() if value // divisor}
        rest = {names: value % divisor for names, value in form.items() if value % divisor}
        return add(out, self._atom_form(rest, divisor)) if set(rest) - {()} else out

    def positive_part(self, form):
        """Return max(form, 0) as a form (polynomial)."""
        if self.enclosing_interval(form)[0] >= 0:
            return form
        if self.enclosing_interval(form)[1] <= 0:
            return {}
        if max(form.items())[1] < 0:
            return add(form, self._atom_form(add({}, form, -1), 0))
        return self._atom_form(form, 0)

    def _atom_form(self, form, divisor):
        name = self.known.setdefault((form_key(form), divisor), f"@{len(self.known)}")
        self.atoms[name] = (form, divisor)
        return {(name,): 1}

    def stop_if_over(self):
        """Raise Undecided if the time limit has passed; functions call this before work of unknown duration."""
        if self.is_over():
            raise Undecided("time is over")

    def value(self, form, at):
        """Return a form's value at symbol values in step counts (`at`, to which the values of atoms are added)."""
        total = 0
        for names, value in form.items():
            for name in names:
                if name not in at:
                    inner, divisor = self.atoms[name]
                    value_of_inner = self.value(inner, at)
                    at[name] = value_of_inner // divisor if divisor else max(value_of_inner, 0)
                value *= at[name]
            total += value
        return total

    # Sign proofs need polynomials, so these methods bound a form from below by forms without quotients and maxima.

    def lower_bound_forms(self, form):
        """Return forms (polynomials) without atoms; at any symbol values, one of them is at most the given form."""
        key_of_form = form_key(form)
        if key_of_form not in self.lowered:
            self.stop_if_over()
            cases = [self._replace_floors(form)]
            while names := sorted({name for case in cases for row in case for name in row if name[0] == "@"}):
                inner = self._replace_floors(self.atoms[names[0]][0])
                cases = [substitute(case, names[0], each) for case in cases for each in ({}, inner)]
                if len(cases) > 256:
                    raise Undecided("one size has too many maxima")
            self.lowered[key_of_form] = [in_whole_numbers(self._drop_rests(case)) for case in cases]
        return self.lowered[key_of_form]

    def _replace_floors(self, form):
        """Return a form in which each floor(p / d) is replaced by p / d minus a new name for the rounded-off fraction.

        The fraction, which is below 1, is named `~@3` for atom @3. Floors inside p are replaced as well.
        """
        for name in sorted({name for names in form for name in names if name in self.atoms and self.atoms[name][1]}):
            inner, divisor = self.atoms[name]
            inner = self._replace_floors(inner)
            form = substitute(form, name, add({n: Fraction(v, divisor) for n, v in inner.items()}, {("~" + name,): -1}))
        return form

    def _drop_rests(self, form):
        """Return a lower bound on a form: fractions become 0 in positive terms, their maximum in negative terms."""
        form_left = {}
        for names, value in form.items():
            rests = [name for name in names if name[0] == "~"]
            if rests and value > 0:
                continue
            for name in rests:
                value *= Fraction(self.atoms[name[1:]][1] - 1, self.atoms[name[1:]][1])
            form_left = add(form_left, {tuple(name for name in names if name[0] != "~"): value})
        return form_left

    def is_never_negative(self, form):
        """Return True if a form (polynomial) is proved to be at least 0 at all symbol values."""
        key_of_form = form_key(form)
        if key_of_form not in self.signs:
            self.stop_if_over()
            is_below = any(self.value(form, dict(at)) < 0 for at in self.points)
            self.signs[key_of_form] = not is_below and (
                self.enclosing_interval(form)[0] >= 0
                or all(no_less_than_0(each, self.box) for each in self.lower_bound_forms(form))
            )
        return self.signs[key_of_form]

    def enclosing_interval(self, form):
        """Return (low, high) around all values of a form; its symbols and atoms (named floors) count as independent."""
        low = high = 0
        for names, value in form.items():
            least = most = value
            for name in names:
                a, b = self.ends_of(name)
                rows = [x * y for x in (least, most) for y in (a, b) if x and y] or [0]
                least, most = min(rows + [0] * (a == 0)), max(rows + [0] * (a == 0))
            low, high = low + least, high + most
        return low, high

    def ends_of(self, name):
        """Return the lowest and the highest value of a symbol or an atom (named floor); infinite if unlimited."""
        if name not in self.atoms:
            low, high = self.box[name]
            return low, math.inf if high is None else high
        inner, divisor = self.atoms[name]
        low, high = self.enclosing_interval(inner)
        if not divisor:
            return max(low, 0), max(high, 0)
        return tuple(each if abs(each) == math.inf else each // divisor for each in (low, high))

    def free_symbols(self, forms):
        """Return the set of symbols that occur in forms (polynomials), also inside their atoms (named floors)."""
        names_used = {name for form in forms for names in form for name in names}
        return {
            each
            for name in names_used
            for each in (self.free_symbols([self.atoms[name][0]]) if name in self.atoms else [name])
        }

    def maximal_forms(self, forms):
        """Return the forms (polynomials) that may be the maximum at some symbol values; no others are larger."""
        forms_left = list({form_key(form): form for form in forms}.values())
        if len(forms_left) > MOST_FORMS:
            raise Undecided(f"one offset is a maximum of {len(forms_left)} forms, which are too many")
        values = [[self.value(form, dict(at)) for at in self.points] for form in forms_left]
        largest = []
        for i in sorted(range(len(forms_left)), key=lambda i: -sum(math.log1p(max(0, each)) for each in values[i])):
            above = (k for k in largest if all(map(int.__ge__, values[k], values[i])))
            if not any(self.is_never_negative(add(forms_left[k], forms_left[i], -1)) for k in above):
                largest.append(i)
        return [forms_left[i] for i in largest]


def _sample_values(ends):
    low, high = ends
    high = 64 * max(low, 1) if high is None else high
    return sorted({low, math.isqrt(max(low, 1) * high), high} & set(range(low, high + 1)) | {low})
