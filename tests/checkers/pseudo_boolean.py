"""A small checker of VeriPB 2.0 proofs about OPB formulas; it supports the steps rup, pol, and red for new variables.

A constraint is (coefficients of literals, least sum) with positive coefficients. A literal is `name` or `~name`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

Constraint = tuple[dict[str, int], int]


class WrongProofError(Exception):
    """A step of the proof does not follow from the constraints proved so far."""


def prove(formula: str, proof: str) -> None:
    """Raise WrongProofError unless the proof shows that the formula is unsatisfiable."""
    known = _ConstraintSet()
    rows = [line for line in formula.splitlines() if not line.startswith("*")]
    for line in rows:
        known.add(_parse_constraint(line.split()))
    head, count, *steps = proof.splitlines()
    output, conclusion, end = steps[-3:]
    if head != "pseudo-Boolean proof version 2.0" or count != f"f {len(rows)}":
        raise WrongProofError("the head of the proof must state version 2.0 and the number of constraints")
    for step in steps[:-3]:
        word, *words = step.split()
        known.add({"rup": known.rup, "pol": known.pol, "red": known.red}[word](words))
    if (output, end) != ("output NONE", "end pseudo-Boolean proof") or conclusion[:19] != "conclusion UNSAT : ":
        raise WrongProofError("the foot of the proof must conclude UNSAT")
    if int(conclusion[19:]) != len(known.rows):
        raise WrongProofError("the conclusion must refer to the last step")
    terms, least = known.rows[-1]
    if sum(terms.values()) >= least:
        raise WrongProofError("the last constraint must be a contradiction")


def holds(formula: str, true: Mapping[str, bool]) -> bool:
    """Return True if an assignment of the variables satisfies all constraints of a formula."""
    rows = (_parse_constraint(line.split()) for line in formula.splitlines() if not line.startswith("*"))
    return all(sum(by for x, by in terms.items() if true[x.lstrip("~")] != (x[0] == "~")) >= low for terms, low in rows)


def negate(literal: str) -> str:
    return literal[1:] if literal[0] == "~" else f"~{literal}"


def _normal_form(terms: Iterable[tuple[int, str]], least: int) -> Constraint:
    """Return the equivalent constraint with positive coefficients, in which each variable occurs once."""
    sums: dict[str, int] = defaultdict(int)
    for factor, literal in terms:
        if literal[0] == "~":
            factor, literal, least = -factor, literal[1:], least - factor
        sums[literal] += factor
    found = {}
    for name, factor in sums.items():
        if factor > 0:
            found[name] = factor
        elif factor < 0:
            found[f"~{name}"], least = -factor, least - factor
    return found, least


def _parse_constraint(words: list[str]) -> Constraint:
    *terms, sign, least, end = words
    if (sign, end) != (">=", ";"):
        raise WrongProofError(f"a constraint must end with `>= NUMBER ;`, got {words}")
    return _normal_form(((int(factor), name) for factor, name in zip(terms[::2], terms[1::2], strict=True)), int(least))


class _ConstraintSet:
    """The constraints of the formula and of earlier steps, with unit propagation over them."""

    def __init__(self) -> None:
        self.rows: list[Constraint] = []
        self.slack: list[int] = []
        self.uses: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def add(self, row: Constraint) -> None:
        for literal, factor in row[0].items():
            self.uses[literal].append((len(self.rows), factor))
        self.rows.append(row)
        self.slack.append(sum(row[0].values()) - row[1])

    def rup(self, words: list[str]) -> Constraint:
        """Return the constraint of a `rup` step, after checking that its negation propagates to a contradiction."""
        row = _parse_constraint(words)
        if not self.leads_nowhere([_negated_constraint(row)]):
            raise WrongProofError(f"rup: the negation must propagate to a contradiction, got {words}")
        return row

    def red(self, words: list[str]) -> Constraint:
        """Return the constraint of a `red` step, after checking that setting one new variable can always satisfy it."""
        at = words.index(";")
        row, (name, arrow, value) = _parse_constraint(words[: at + 1]), words[at + 1 :]
        if arrow != "->" or value not in "01":
            raise WrongProofError(f"red: must assign 0 or 1 to a name, got {words}")
        true = name if value == "1" else f"~{name}"
        touched = {number for literal in (name, f"~{name}") for number, _ in self.uses[literal]}
        for other in [row, *(self.rows[number] for number in touched)]:
            if not self.leads_nowhere([_negated_constraint(row), _negated_constraint(_assign_true(other, true))]):
                raise WrongProofError(f"red: the assignment must satisfy the constraints, got {words}")
        return row

    def pol(self, words: list[str]) -> Constraint:
        """Return the constraint that a `pol` step computes by sums, multiples, divisions and saturations."""
        stack: list[Constraint | int] = []
        for word in words:
            if word.isdigit():
                stack.append(int(word))
                continue
            if word == "s":
                terms, least = self._row(stack.pop())
                stack.append(({name: min(factor, max(0, least)) for name, factor in terms.items()}, least))
                continue
            second, first = stack.pop(), self._row(stack.pop())
            if word == "+":
                other = self._row(second)
                rows = [(factor, name) for some, _ in (first, other) for name, factor in some.items()]
                stack.append(_normal_form(rows, first[1] + other[1]))
            elif word in "*d" and isinstance(second, int) and second > 0:
                terms = {name: _scaled_number(word, factor, second) for name, factor in first[0].items()}
                stack.append((terms, _scaled_number(word, first[1], second)))
            else:
                raise WrongProofError(f"pol: must use the operators +, *, d and s, got {words}")
        (only,) = stack
        return self._row(only)

    def _row(self, entry: Constraint | int) -> Constraint:
        return self.rows[entry - 1] if isinstance(entry, int) else entry

    def leads_nowhere(self, assumed: list[Constraint]) -> bool:
        """Return True if unit propagation from the assumed constraints reaches a contradiction."""
        rows = [*self.rows, *assumed]
        slack = [*self.slack, *(sum(terms.values()) - least for terms, least in assumed)]
        extra: Mapping[str, list[tuple[int, int]]] = defaultdict(list)
        for number, (terms, _) in enumerate(assumed, len(self.rows)):
            for literal, factor in terms.items():
                extra[literal].append((number, factor))
        true: set[str] = set()
        waiting = list(range(len(rows)))
        while waiting:
            number = waiting.pop()
            if slack[number] < 0:
                return True
            for literal, factor in rows[number][0].items():
                if factor <= slack[number] or literal in true:
                    continue
                if negate(literal) not in true:
                    true.add(literal)
                    for use, lost in (*self.uses.get(negate(literal), ()), *extra.get(negate(literal), ())):
                        slack[use] -= lost
                        if slack[use] < 0:
                            return True
                        waiting.append(use)
        return False


def _scaled_number(word: str, number: int, by: int) -> int:
    return number * by if word == "*" else -(-number // by)


def _negated_constraint(row: Constraint) -> Constraint:
    terms, least = row
    return {negate(name): factor for name, factor in terms.items()}, sum(terms.values()) - least + 1


def _assign_true(row: Constraint, true: str) -> Constraint:
    terms, least = row
    rest = {name: factor for name, factor in terms.items() if name not in (true, negate(true))}
    return rest, least - terms.get(true, 0)
