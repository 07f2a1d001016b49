"""Check a certificate without memplan: check.py [--inclusive|--half-open] PROBLEM CERTIFICATE [SIZE[@ADDRESS]|- ...]

Exit status: 0 proved, 2 wrong input, 3 refused. The SIZE of each pool replaces the size that the problem states.
"""
# docs/certificates.md lists the fields and claims that this checker reads, and proves that its rules are sound.

import hashlib, sys
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
names = ("read", "problem", "claims", "costs", "prices", "moves")
reading, problems, claims, costs, prices, moving = (
    import_module(f"{__package__ or ''}.{name}".lstrip(".")) for name in names
)
Refused, Problem, free_bytes_end, INF, number = (
    reading.Refused,
    problems.Problem,
    problems.free_bytes_end,
    problems.INF,
    claims.number,
)
INTERVALS = {"--inclusive": "closed", "--half-open": "half-open"}


@lru_cache(1 << 16)
def parse_entry(word):
    """Return (buffer, its least offset in each pool) as stated by a lemma's word `BUFFER:OFFSET,...`."""
    i, lows = word.split(":")
    return number(i), tuple(INF if at == "-" else number(at) for at in lows.split(","))


class Claim:
    """The claim that the buffers do not fit into given capacities, with the conflict sets and lemmas to prove it.

    A lemma excludes states: it lists least offsets that some buffers cannot have at the same time.
    """

    def __init__(self, problem, ends, least=None, said=("used",)):
        """Start a claim without conflict sets and lemmas; `ends` has the claimed capacity of each pool."""
        self.problem, self.ends, self.sets, self.lemmas, self.worths = problem, ends, [], [], []
        self.least, self.said = least, said

    @cache
    def least_offsets(self, i):
        """Return a buffer's least legal offset in each pool when empty, as a tuple, or None for a buffer of size 0."""
        p = self.problem
        return tuple(p.legal_offset(i, q, 0, end) for q, end in enumerate(self.ends)) if i in p.solid else None

    def add_set(self, kind, numbers):
        """Add a conflict set: the buffers that are alive at a given time, or listed buffers that conflict pairwise."""
        p, numbers_of_set = self.problem, self.problem.solid.intersection(numbers)
        if kind == "time":
            numbers_of_set = {i for i in p.solid if any(a <= numbers[0] < b for a, b in p.lives[i])}
        if (kind != "time" or p.has_ties) and not all(
            p.meets(i, j) for i in numbers_of_set for j in numbers_of_set if i < j
        ):
            raise Refused("the buffers of a set must conflict pairwise")
        self.sets.append(
            (
                [i for i in numbers_of_set if p.pin[i] is None],
                [p.fixed_ranges(numbers_of_set, q) for q in range(len(self.ends))],
            )
        )

    def is_refuted(self, low, ref, changed):
        """Return True if no plan exists in the state `low`, which maps a buffer to its least offset in each pool.

        `ref` names the reason: a buffer or a conflict set without room, or a lemma that excludes the state.
        """
        for i in changed:
            if min(low(i)) >= INF:
                return True
        if ref == "-":
            return False
        if ref[0] == "$":
            return self.worths[number(ref[1:])](low)
        if ref[0] != "@":
            for i, lows in self.lemmas[number(ref)].items():
                if (mine := low(i)) != lows and not (mine and all(map(int.__ge__, mine, lows))):
                    return False
            return True
        k, grain, rest, bits = map(number, (ref[1:] + ":1:0:1" * (":" not in ref)).split(":"))
        if grain < 1 or not 0 < bits < 1 << len(self.ends):
            raise ValueError(f"a reference must have a granule of at least 1 and existing pools, got {ref}")
        (members, blocks), pools = self.sets[k], [q for q in range(len(self.ends)) if bits >> q & 1]
        inside = [i for i in members if low(i) and all(q in pools for q, at in enumerate(low(i)) if at < INF)]
        if len(pools) > 1:
            edges = [[0, *(at for block in blocks[q] for at in block), self.ends[q]] for q in pools]
            gaps = [max(0, min(high, row[-1]) - low) for row in edges for low, high in zip(row[::2], row[1::2])]
            sizes = [self.problem.size[i] for i in inside if self.problem.size[i] % grain == 0]
            return sum(sizes) > sum(gap // grain * grain for gap in gaps)
        q, amount, waste = pools[0], 0, 0
        for at, size, i in sorted([(low(i)[q], self.problem.size[i], i) for i in inside], reverse=True):
            step, r, _ = self.problem.place(i, q)
            if step % grain == 0 and (r - rest) % grain == 0:
                amount, waste = amount + size + -size % grain, max(waste, -size % grain)
                if free_bytes_end(blocks[q], grain, rest, at, amount) - waste > self.ends[q]:
                    return True
        return False

    def add_lemma(self, kind, b, refs, low):
        """Check a lemma, which excludes a state, by the cases of buffer b, and add the lemma.

        The cases are the positions of b among its neighbours (kind l), or the pools of b (kind s).
        """
        p, pools = self.problem, [q for q, at in enumerate(low[b]) if at < INF]
        only = lambda q, at: {**low, b: tuple(at if k == q else INF for k in range(len(self.ends)))}
        if kind == "s" and not all(self.is_refuted(only(q, low[b][q]).get, refs[q], [b]) for q in pools):
            raise Refused("a lemma of kind s must refute its buffer in each of the pools that the buffer may use")
        if kind == "l":
            (q,), rests = pools, low.copy()
            del rests[b]
            near, end = [j for j in rests if low[j][q] < INF and p.meets(b, j)], self.ends[q]
            for j in near:
                above = max(low[j][q], p.legal_offset(j, q, low[b][q] + p.size[b], end))
                rests[j] = (*low[j][:q], above, *low[j][q + 1 :])
            on = p.legal_offset(b, q, max(low[b][q], min([low[j][q] + p.size[j] for j in near], default=INF)), end)
            if not self.is_refuted(rests.get, refs[0], near) or not self.is_refuted(only(q, on).get, refs[1], [b]):
                raise Refused("a lemma of kind l must refute the rest state and the lifted state of its buffer")
        self.lemmas.append(low)

    def add_line(self, word, *rest):
        """Check a line of the certificate, and add its conflict set, its Lagrange multipliers or its lemma."""
        p, count = self.problem, len(self.ends)
        if word == "set" and rest[0] == "time":
            (time,) = rest[1:]
            self.add_set("time", [-number(time[1:]) if time[0] == "-" else number(time)])
        elif word == "set" and rest[0] == "of":
            self.add_set("of", [number(each, len(p.rows)) for each in rest[1:]])
        elif word == "worth" and self.least is not None:
            self.worths.append(costs.cost_test(self, [[number(x, 2**127) for x in each.split(":")] for each in rest]))
        elif word in ("l", "s"):
            refs, words = rest[1 : (first := 3 if word == "l" else 1 + count)], rest[first:]
            low = dict(map(parse_entry, words))
            if len(low) < len(words) or not p.solid.issuperset(low) or {*map(len, low.values())} - {count}:
                raise ValueError(f"a lemma must list each buffer once, with an offset per pool, got {' '.join(words)}")
            self.add_lemma(word, number(rest[0]), refs, low)
        else:
            raise ValueError(f"a line must begin with set, worth, l or s, got {' '.join([word, *rest])!r}")

    def close(self, ref):
        """Check the last line of a claim: it must refute the initial state, in which no buffer is placed yet."""
        alone = [number(ref[1:])] if ref[0] == "!" else []
        if not self.is_refuted(self.least_offsets, "-" if alone else ref, alone):
            raise Refused("the last line must refute that the buffers fit")


def check(text, lines, given=None, interval=None):
    """Return the sentence that a certificate proves about a problem. Raises Refused for a wrong certificate.

    `given` lists (size, base address) of each pool; if present, these values replace the values in the problem.
    """
    head, sizes, ends, *lines = [line.split(" ") for line in lines]
    mine = [None if size == "-" else number(size) for size in sizes[1:]]
    if head != ["memplan-lemmas/1"] or sizes[0] != "sizes" or (given and [size for size, _ in given] != mine):
        raise Refused("the certificate must have the format memplan-lemmas/1 and the given pool sizes")
    is_moving = ends[0] == "moves"
    problem = Problem(text, given or [(size, None) for size in mine], interval, bool(given), is_moving)
    if is_moving:
        return full_sentence(problem, moving.check_moves(problem, lines, *ends[1:]), sizes, given, text)
    if ends[0] == "price":
        return full_sentence(problem, check_price(problem, lines, *ends[1:]), sizes, given, text)
    expectations, sentence = claims.parse_claim(problem.ends, ends[0], ends[1:])
    lines.reverse()
    for expected, least in expectations:
        if (line := lines.pop())[0] != "claim" or [*map(number, line[1:])] != expected:
            raise Refused(f"the next claim must be {expected}")
        claim = Claim(problem, expected, least, ends)
        while (line := lines.pop())[0] != "end":
            claim.add_line(*line)
        claim.close(*line[1:])
    if lines:
        raise Refused("the last claim must end the certificate")
    return full_sentence(problem, sentence, sizes, given, text)


def check_price(problem, lines, least):
    """Return the proved sentence: a lower bound on the price of shared bytes. Raises Refused for a wrong proof."""
    (word, scale), *rows = lines
    if word != "scale" or number(scale) < 1 or rows[:1] != [["part"]]:
        raise ValueError("a price must have a scale of at least 1, followed by a part")
    parts = []
    for word, *rest in rows:
        if word == "part" and not rest:
            parts.append([])
        elif word == "clique":
            parts[-1].append([number(each) for each in rest])
        else:
            raise ValueError(f"a line must begin with part or clique, got {' '.join([word, *rest])!r}")
    if prices.proved_bound(problem, number(scale), parts) < number(least):
        raise Refused("the cliques must add up to at least the price")
    return f"no plan pays less than {least} for bytes that are shared"


def full_sentence(problem, sentence, sizes, given, text):
    """Return the proved sentence followed by the sizes of the pools and the hash of the problem's text."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    bases = [base for _, base in given] if given else [None] * (len(sizes) - 1)
    of = ", ".join(size if base is None else f"{size}@{base}" for size, base in zip(sizes[1:], bases))
    return f"proved: {sentence}, in pools of {of} bytes, problem sha256 {digest} with {problem.interval} lifetimes"


def parse_pools(sizes):
    """Return (size, base address) of each pool from words such as `65536@536870912`; the size `-` means no limit."""
    pools = [(size, at and number(base)) for size, at, base in (size.partition("@") for size in sizes)]
    return [(None if size == "-" else number(size), None if base == "" else base) for size, base in pools]


def check_command(words):
    """Check the certificate of a command line, and return the proved sentence."""
    interval = INTERVALS[words[0]] if words[0][:2] == "--" else None
    first, second, *sizes = words[interval is not None :]
    pools = parse_pools(sizes)
    text, proof = (Path(name).read_bytes().decode() for name in (first, second))
    *lines, rest = proof.split("\n")
    if rest or "\r" in proof:
        raise ValueError("a certificate must end with a line feed and contain no carriage return")
    return check(text, lines, pools, interval)


def main(words):
    """Run the command with these arguments, and return its exit status and the line that it prints."""
    try:
        return 0, check_command(words)
    except Refused as why:
        return 3, f"refused: {why}"
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        return 2, f"wrong input: {error!r}"


if __name__ == "__main__":
    status, said = main(sys.argv[1:])
    sys.exit(print(said) or status)
