"""Convert a one-pool certificate to a VeriPB proof, without memplan: veripb.py PROBLEM CERTIFICATE FORMULA PROOF

It writes a formula in OPB and a proof in format 2.0. Exit status: 0 written; 2 wrong input, or a kind of problem or
claim that cannot be converted; 3 the certificate is wrong. An offset is `rest + step * y`; the bits of y are variables.
Variable `s3_4` means that buffer 3 is below buffer 4, and `g3_7` means that buffer 3's y is at least 7. A lemma is a
clause of these variables, proved by two unit propagations.
"""

import sys
from bisect import bisect_left
from importlib import import_module
from itertools import combinations
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
checker, opb = (import_module(f"{__package__ or ''}.{name}".lstrip(".")) for name in ("check", "opb"))
MOST_BUFFERS = 40
MOST_TOGETHER = 12
"""The most buffers of a set that is refuted order by order, because 2^12 subsets take 100,000 steps and 10 MB."""


class NotCoveredError(ValueError):
    """The certificate may be correct, but a formula of this kind cannot express its claim."""


def translate(problem, certificate, core=()):
    """Return two texts: the OPB formula "some plan fits the refuted capacity", and a proof that it is unsatisfiable.

    `problem` is memplan's JSON. If the proof has no lemmas, the formula has only the buffers of `core`. Raises Refused
    for a wrong certificate, and NotCoveredError for several pools or claims, costs, pins, reserved ranges, pages, more
    than 40 buffers, or sets with too many orders.
    """
    _, sizes, head, *lines = (line.split(" ") for line in certificate.splitlines())
    if len(sizes) != 2 or head[0] not in ("used", "infeasible"):
        raise NotCoveredError("only certificates of one pool without costs can be converted for VeriPB")
    checker.check(problem, certificate.splitlines())
    rows = checker.Problem(problem, [(None if sizes[1] == "-" else int(sizes[1]), None)])
    expected = checker.claims.parse_claim(rows.ends, head[0], head[1:])[0]
    if not expected:
        raise NotCoveredError("the certificate claims nothing that could be refuted")
    if core and all(line[0] not in ("l", "s") for line in lines):
        # If the core's buffers do not fit, the whole problem does not fit, so the formula omits all other buffers.
        rows.solid = {i for i in rows.solid if rows.rows[i]["id"] in core}
    if len(rows.solid) > MOST_BUFFERS:
        raise NotCoveredError(f"the problem has {len(rows.solid)} buffers, and at most {MOST_BUFFERS} are supported")
    if any(rows.pin[i] is not None or rows.page[i] < checker.INF or rows.place(i, 0)[2] for i in rows.solid):
        raise NotCoveredError("pins, reserved ranges and pages cannot be converted for VeriPB")
    steps = Translation(rows, expected[0][0])
    for line in lines[1:-1]:
        steps.add_line(*line)
    steps.close(lines[-1][1])
    return steps.formula.text(), steps.text()


class Translation(checker.Claim):
    """A claim that is checked line by line and is translated to steps of a proof about the formula."""

    def __init__(self, rows, ends):
        """Start with the formula of the problem and without proof steps."""
        super().__init__(rows, ends)
        self.formula = opb.Formula(rows, ends[0])
        self.steps = []
        self.chain = {i: [] for i in self.formula.grid}
        self.meanings = {}
        self.known = set()
        self.refuted = {}

    def text(self):
        """Return the text of the VeriPB proof file."""
        head = ["pseudo-Boolean proof version 2.0", f"f {len(self.formula.lines)}"]
        last = len(self.formula.lines) + len(self.steps)
        foot = ["output NONE", f"conclusion UNSAT : {last}", "end pseudo-Boolean proof"]
        return "\n".join([*head, *self.steps, *foot]) + "\n"

    def is_refuted(self, low, ref, changed):
        """Return True if a state (least offsets) is refuted; if a conflict set refutes it, also add the proof steps."""
        is_so = bool(super().is_refuted(low, ref, changed))
        if is_so and ref[0] == "@" and all(min(low(i)) < checker.INF for i in changed):
            self._write_set(low, ref)
        return is_so

    def add_lemma(self, kind, b, refs, low):
        """Check a lemma, and add it to the proof as a clause."""
        super().add_lemma(kind, b, refs, low)
        formula, at = self.formula, {i: self.formula.min_step(i, lows[0]) for i, lows in low.items()}
        clause = self._clause_forbidding(at)
        if kind == "l":
            near = [j for j in low if j != b and low[j][0] < checker.INF and self.problem.meets(b, j)]
            for j in near:
                self._write_push(j, b, at[j])
                self._write_push(b, j, at[b])
            ends = [low[j][0] + formula.size[j] for j in near]
            lifted = formula.min_step(b, max(low[b][0], min(ends, default=checker.INF)))
            if lifted > at[b]:
                self._add_clause([*clause, self._lower_bound_literal(b, lifted)])
        self._add_clause(clause)

    def close(self, ref):
        """Check the last line of the claim, and add the final contradiction to the proof."""
        super().close(ref)
        self._add_clause([])

    def _write_set(self, low, ref):
        """Add proof steps: the highest buffers of a conflict set cannot all have their least offsets or more."""
        k, grain, rest, _ = map(int, (ref[1:] + ":1:0:1" * (":" not in ref)).split(":"))
        amount, waste, size, ids = 0, 0, self.formula.size, []
        for at, i in sorted(((low(i)[0], i) for i in self.sets[k][0] if low(i)), key=lambda row: (-row[0], row[1])):
            step, remainder, _ = self.problem.place(i, 0)
            if step % grain or (remainder - rest) % grain:
                continue
            ids.append(i)
            amount, waste = amount + size[i] + -size[i] % grain, max(waste, -size[i] % grain)
            if at + amount - waste > self.ends[0]:
                break
        if len(ids) > MOST_TOGETHER:
            raise NotCoveredError(f"the proof must need all orders of at most {MOST_TOGETHER} buffers, got {len(ids)}")
        self._refute_set(frozenset(ids), at + (rest - at) % grain, grain)

    def _refute_set(self, some, at, grain):
        """Add proof steps: a conflict set's offsets cannot all be at least `at`; return each buffer's least y."""
        if (line := self.refuted.get((some, at, grain))) is not None:
            return line
        formula = self.formula
        least = {i: formula.min_step(i, at) for i in sorted(some)}
        outside = [i for i, y in least.items() if y > formula.grid[i][2]]
        if outside:
            least = {outside[0]: least[outside[0]]}
            self._clause_forbidding(least)
        else:
            clause, order = self._clause_forbidding(least), list(least)
            for b in order:
                self._refute_set(some - {b}, at + formula.size[b] + -formula.size[b] % grain, grain)
                for j in some - {b}:
                    self._write_push(b, j, least[b])
                self._add_clause([*clause, *(f"s{j}_{b}" for j in order if j != b)])
            self._write_cycles(order)
            # Each buffer has another buffer below it, and there are no cycles, so no buffer can be the lowest.
            for last in range(len(order) - 1, 0, -1):
                for i in order[:last]:
                    self._add_clause([*clause, *(f"s{j}_{i}" for j in order[:last] if j != i)])
        return self.refuted.setdefault((some, at, grain), least)

    def _write_cycles(self, order):
        """Add proof steps: no two or three buffers form a cycle in which each is below the next."""
        circles = [*combinations(order, 2), *combinations(order, 3)]
        circles += [(i, k, j) for i, j, k in combinations(order, 3)]
        for circle in circles:
            if circle in self.known:
                continue
            self.known.add(circle)
            numbers = [self.formula.below[i, j] for i, j in zip(circle, (*circle[1:], circle[0]), strict=True)]
            total = sum(self.formula.size[i] for i in circle)
            self._add_step(f"pol {numbers[0]} {' '.join(f'{number} +' for number in numbers[1:])} s {total} d")

    def _write_push(self, i, j, y):
        """Add the step that buffer j, if above buffer i, starts at or above i's end; i's y is at least `y`."""
        formula = self.formula
        to = formula.min_step(j, formula.value(i, y) + formula.size[i])
        if to == 0 or ("push", i, j, y) in self.known:
            return
        self.known.add(("push", i, j, y))
        self._lower_bound_literal(i, y)
        self._lower_bound_literal(j, to)
        first, second = self.meanings[i, y], self.meanings[j, to] + 1
        excess = formula.value(i, y) + formula.size[i] - formula.value(j, to - 1)
        scaled = f"{first} {formula.grid[i][0]} * + {second} {formula.grid[j][0]} * +"
        self._add_step(f"pol {formula.below[i, j]} {scaled} s {excess} d")

    def _clause_forbidding(self, least):
        return [f"~{self._lower_bound_literal(i, y)}" for i, y in least.items()]

    def _lower_bound_literal(self, i, y):
        """Return the literal for "buffer i's y is at least `y`"; the proof gets its definition on first use."""
        name = f"g{i}_{y}"
        if (i, y) in self.meanings:
            return name
        last, bits = self.formula.grid[i][2:]
        more = (1 << bits) - y
        is_so = " ".join(f"{1 << k} b{i}_{k}" for k in range(bits))
        is_not = " ".join(f"{1 << k} ~b{i}_{k}" for k in range(bits))
        self.meanings[i, y] = self._add_step(f"red {is_so} {y} ~{name} >= {y} ; {name} -> 0")
        self._add_step(f"red {is_not} {more} {name} >= {more} ; {name} -> 1")
        chain = self.chain[i]
        at = bisect_left(chain, y)
        for low, high in [*((low, y) for low in chain[:at][-1:]), *((y, high) for high in chain[at : at + 1])]:
            self._add_clause([f"~g{i}_{high}", f"g{i}_{low}"])
        chain.insert(at, y)
        if y == 0:
            self._add_clause([name])
        if y > last:
            self._add_clause([f"~{name}"])
        return name

    def _add_clause(self, clause):
        self._add_step(" ".join(["rup", *(f"1 {literal}" for literal in clause), ">= 1 ;"]))

    def _add_step(self, step):
        self.steps.append(step)
        return len(self.formula.lines) + len(self.steps)


if __name__ == "__main__":
    try:
        texts = [Path(name).read_text(encoding="utf-8") for name in sys.argv[1:3]]
        for name, text in zip(sys.argv[3:5], translate(*texts), strict=True):
            Path(name).write_text(text, encoding="utf-8")
    except checker.Refused as why:
        sys.exit(print(f"refused: {why}") or 3)
    except NotCoveredError as why:
        sys.exit(print(f"not covered: {why}") or 2)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        sys.exit(print(f"wrong input: {error!r}") or 2)
