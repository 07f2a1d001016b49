"""The strongest true claim of a certificate about a small problem, found by brute force, and claims that are false."""

from fractions import Fraction

from memplan.planner.model.problem import Problem, Profile, replace_profile
from tests.support import oracle


def best_goals(problem: Problem, profile: Profile | None) -> tuple[float | None, list[int]] | None:
    """Return (cost or None, bytes used of each pool) of a best plan under a profile, or None if no plan fits."""
    if len(problem.pools) == 1 or profile in (None, "size"):
        problem = problem if profile is None else replace_profile(problem, profile)
        best = oracle.best_score(problem)
        return None if best is None else _split_score(problem, best)
    priced = replace_profile(problem, "speed")
    if profile == "balanced":
        least = oracle.best_score(problem.model_copy(update={"objective": "peak"}))
        if least is None:
            return None
        last = priced.pools[-1].model_copy(update={"size": int(least[0])})
        priced = priced.model_copy(update={"pools": (*priced.pools[:-1], last)})
    best = oracle.best_score(priced)
    return None if best is None else _split_score(priced, best)


def _split_score(problem: Problem, best: tuple[float, ...]) -> tuple[float | None, list[int]]:
    used = [int(end) for end in reversed(best[-len(problem.pools) :])]
    return (best[0] if problem.objective == "cost" else None), used


def is_claim_of(line: str, best: tuple[float | None, list[int]] | None) -> bool:
    """Return True if a certificate's third line claims exactly the best values; `-` leaves a value open."""
    kind, *words = line.split()
    if best is None or kind == "infeasible":
        return best is None and line == "infeasible"
    cost, used = best
    if kind != "used":
        is_right = cost is not None and abs(float(Fraction(int(words[0]), int(words[1]))) - cost) <= 1e-9 * abs(cost)
        words = words[2:]
    else:
        is_right = True
    is_right &= len(words) == len(used)
    return is_right and all(word in ("-", str(end)) for word, end in zip(words, used, strict=True))


def false_claims(lines: list[str]) -> list[list[str]]:
    """Return copies of a certificate, each of which claims one number, a cost or a pool's bytes, too high by one."""
    kind, *words = lines[2].split()
    found = []
    for k, word in enumerate(words):
        if kind == "infeasible" or not word.isdecimal() or (kind != "used" and k == 1):
            continue
        more = [*words]
        more[k] = str(int(word) + 1)
        found.append([*lines[:2], " ".join([kind, *more]), *lines[3:]])
    return found


def set_capacities(lines: list[str], sizes: list[int | None]) -> list[str]:
    """Return a certificate after setting the capacities in its claim lines to those that its third line implies."""
    kind, *words = lines[2].split()
    ends = [2**63 - 1 if size is None else size for size in sizes]
    used = [0 if word == "-" else int(word) for word in (words if kind == "used" else words[2:])] or [0] * len(ends)
    wanted: list[list[int]] = []
    top = len(ends)
    if kind == "balanced":
        top -= 1
        wanted = [[*ends[:-1], used[-1] - 1]] * (used[-1] > 0) + [[*ends[:-1], used[-1]]]
    elif kind != "used":
        wanted = [ends]
    wanted += [[*ends[:q], used[q] - 1, *used[q + 1 :]] for q in reversed(range(top)) if used[q]]
    found, k = [], 0
    for line in lines:
        if line.startswith("claim ") and k < len(wanted):
            found.append(" ".join(map(str, ["claim", *wanted[k]])))
            k += 1
        else:
            found.append(line)
    return found
