"""Check, without memplan, the proof that a plan is nearly optimal at all symbol values: all_values.py ANSWER [PROBLEM].

Exit status: 0 proved, 2 wrong input, 3 refused, 4 undecided within the limit of boxes (ranges of symbol values).
"""
# ANSWER is the answer of `memplan shapes`, and PROBLEM is its input; docs/certificates.md describes the proofs.

import json, sys
from fractions import Fraction
from importlib import import_module
from itertools import combinations
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
symbols, boxes = (import_module(f"{__package__ or ''}.{name}".lstrip(".")) for name in ("symbols", "boxes"))
Refused, Undecided, Symbols, add, form_key = (
    getattr(symbols, name) for name in ("Refused", "Undecided", "Symbols", "add", "form_key")
)
prove, same = boxes.prove, boxes.has_equal_maximum


class Plan:
    """The buffers of an answer, and its programs (orders in which buffers are packed); sizes are forms over symbols."""

    def __init__(self, answer, is_over):
        """Read an answer. Raises Refused if a size is not a multiple of the alignment or may be negative."""
        self.symbols = Symbols(answer["symbols"], is_over)
        self.sizes = [self.symbols.read(text) for text in answer["sizes"]]
        self.lives, self.alignment = [tuple(life) for life in answer["lifetimes"]], answer["alignment"]
        self.size = [self.sizes[at] for at in answer["size_of"]]
        if len({len(answer["ids"]), len(self.size), len(self.lives)}) > 1 or any(a >= b for a, b in self.lives):
            raise ValueError("ids, size_of, lifetimes: must have one entry per buffer, with start < end")
        for i, size in enumerate(self.sizes):
            if any(value % self.alignment for value in size.values()):
                raise Refused(f"sizes[{i}] must be provably a multiple of {self.alignment}")
            if not self.symbols.is_never_negative(size):
                prove(self.symbols, [[{}]], [size], Fraction(0))
        self.views = {view: (root, self.sizes[at]) for view, root, at in answer.get("views", ())}
        self.pins = {buffer: self.sizes[at] for buffer, at in answer.get("pins", ())}
        if self.views.keys() & ({root for root, _ in self.views.values()} | self.pins.keys()):
            raise ValueError("views: must not contain other views or be pinned")
        begins, rows = sorted({start for start, _ in self.lives}), [*enumerate(self.lives)]
        self.live = [{self.root(b) for b, (start, end) in rows if start <= time < end} for time in begins]
        self.apart = [set(row) - self.views.keys() for row in answer.get("apart", ())]
        self.alive = [sorted(row) for row in (*self.live, *self.apart)]
        self.sums = [*map(self.total, self.alive)] or [{}]
        bytes_of = [(at, self.size[b]) for b, at in self.pins.items()]
        ends = [add(at, size) for at, size in bytes_of if same(self.symbols, [{(): 1}, size], [size])]
        self.loads = self.symbols.maximal_forms([*self.sums, *ends])

    def root(self, buffer):
        """Return the buffer that contains the given view, or the buffer itself if it is not a view."""
        return self.views.get(buffer, (buffer,))[0]

    def total(self, buffers):
        """Return the sum of the sizes of the given buffers as a form (polynomial over symbols)."""
        total = {}
        for buffer in buffers:
            total = add(total, self.size[buffer])
        return total

    def peak(self, i, program):
        """Return forms (polynomials over symbols) whose maximum, at any symbol values, is the peak of program i.

        Raises Refused if the program's order gives other offsets or another peak than the answer states.
        """
        order, symbols = program["order"], self.symbols
        if sorted(order) != list(range(len(self.size))) or len(program["which"]) != len(order):
            raise Refused(f"programs[{i}] must contain each buffer exactly once")
        values = []
        for terms in program["values"]:
            values.append(self._ends(values, terms))
        tops, offsets, sections = [None] * len(self.alive), {}, [[] for _ in self.size]
        for time, row in enumerate(self.alive):
            for buffer in row:
                sections[buffer].append(time)
        seen = {}
        for buffer in (each for each in order if each not in self.views):
            below = frozenset(tops[time] for time in sections[buffer]) - {None}
            rows = {form_key(form): form for b in below for form in (add(each, self.size[b]) for each in offsets[b])}
            key_of_rows = frozenset(rows)
            if key_of_rows not in seen:
                seen[key_of_rows] = symbols.maximal_forms(rows.values()) if rows else [{}]
            offsets[buffer] = seen[key_of_rows]
            if buffer in self.pins:
                prove(symbols, [seen[key_of_rows]], [self.pins[buffer]], Fraction(0))
                offsets[buffer] = [self.pins[buffer]]
            if not same(symbols, offsets[buffer], values[program["which"][buffer]]):
                raise Refused(f"programs[{i}]: buffer {buffer} must be at the offset that its order determines")
            for time in sections[buffer]:
                tops[time] = buffer
        for view, (root, far) in self.views.items():
            if not same(symbols, [add(each, far) for each in offsets[root]], values[program["which"][view]]):
                raise Refused(f"programs[{i}]: view {view} must keep its distance from the start of its buffer")
        ends = [add(each, self.size[b]) for b in {*tops} - {None} for each in offsets[b]]
        peaks = symbols.maximal_forms(ends) if ends else [{}]
        if not same(symbols, peaks, self._ends(values, program["last"])):
            raise Refused(f"programs[{i}].last must be the peak")
        peak = program.get("peak")
        if peak is not None and not same(symbols, peaks, [symbols.read(text) for text in peak]):
            raise Refused(f"programs[{i}].peak must be the peak of its order")
        return peaks

    def _ends(self, values, terms):
        if any(min(pair) < 0 for pair in terms):
            raise ValueError("values: indexes must be at least 0")
        rows = [add(each, self.sizes[size]) for value, size in terms for each in values[value]]
        return self.symbols.maximal_forms(rows) if rows else [{}]


def compare(plan, answer, problem):
    """Raise Refused if the symbols, buffers or rules of an answer differ from those of the given problem."""
    rows, symbols = problem["buffers"], plan.symbols
    if Symbols(problem["symbols"]).box != symbols.box or Symbols(problem["symbols"]).step != symbols.step:
        raise Refused("the symbols must be those of the problem")
    if answer["ids"] != [row["id"] for row in rows] or plan.alignment != problem.get("alignment", 1):
        raise Refused("the buffers must be those of the problem")
    if plan.lives != [(row["start"], row["end"]) for row in rows]:
        raise Refused("the lifetimes must be those of the problem")
    for i, row in enumerate(rows):
        size = symbols._apply_function("align", [symbols.read(row["size"]), {(): plan.alignment}])
        if not same(symbols, [size], [plan.size[i]]):
            raise Refused(f"the size of buffer {i} must be that of the problem")
        pin = row.get("offset")
        if (pin is None) != (i not in plan.pins) or (
            pin is not None and form_key(symbols.read(pin)) != form_key(plan.pins[i])
        ):
            raise Refused(f"the pin of buffer {i} must be that of the problem")
    _compare_rules(plan, rows, problem.get("conflicts") or ())


def _compare_rules(plan, rows, conflicts):
    """Raise Refused if the conflicts and views of a plan differ from those in the problem's rows."""
    index, read = {row["id"]: i for i, row in enumerate(rows)}, plan.symbols.read
    for i, row in enumerate(rows):
        at, far = i, {}
        for _ in rows:
            if rows[at].get("alias_of") is not None:
                far = add(far, read(rows[at].get("alias_offset") or 0))
                at = index[rows[at]["alias_of"]]
        if plan.root(i) != at or (at != i and not same(plan.symbols, [far], [plan.views[i][1]])):
            raise Refused(f"buffer {i} must be the same view as in the problem")
        prove(plan.symbols, [[add(far, read(row["size"]))]], [read(rows[at]["size"])], Fraction(0))
    pairs = {frozenset(plan.root(index[name]) for name in pair) for pair in conflicts}
    near = {*pairs, *(frozenset(pair) for row in plan.live for pair in combinations(row, 2))}
    if any(frozenset(pair) not in near for row in plan.apart for pair in combinations(row, 2)):
        raise Refused("apart must contain only buffers that conflict pairwise")
    if any(len(pair) > 1 and not any(pair <= row for row in (*plan.live, *plan.apart)) for pair in pairs):
        raise Refused("apart must contain each conflict of the problem")


def check(answer, problem=None, is_over=lambda: False):
    """Return the sentence that the answer proves. Raises Refused for a wrong proof, usually ValueError for wrong input.

    Raises Undecided if too many boxes are needed, or as soon as `is_over` returns True because the time is over.
    """
    ratio = answer["proof"]["ratio"]
    if ratio is None or (answer["status"] == "optimal") != (ratio == 0):
        raise Refused("the answer must claim a ratio, which is 0 only for an optimal plan")
    plan = Plan(answer, is_over)
    if problem is not None:
        compare(plan, answer, problem)
    bound = [plan.symbols.read(text) for text in answer["bound"]]
    for some, others in ((bound, plan.loads), (plan.symbols.maximal_forms(plan.sums), bound)):
        prove(plan.symbols, [some], others, Fraction(0))
    peaks = [plan.peak(i, program) for i, program in enumerate(answer["programs"])]
    over = Fraction(str(ratio))
    if over < 0 or not peaks:
        raise ValueError("proof.ratio: must be at least 0, with at least one program")
    prove(plan.symbols, peaks, plan.loads, over)
    above = "no plan needs less" if not over else f"no plan needs less than 1/{float(1 + over)} of it"
    return f"proved: {above} at any value, {len(plan.size)} buffers, {len(peaks)} orders"


if __name__ == "__main__":
    try:
        texts = [open(name, encoding="utf-8").read() for name in sys.argv[1:3]]
        print(check(*map(json.loads, texts)))
    except Refused as why:
        sys.exit(print(f"refused: {why}") or 3)
    except Undecided as why:
        sys.exit(print(f"not decided: {why}") or 4)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        sys.exit(print(f"wrong input: {error!r}") or 2)
