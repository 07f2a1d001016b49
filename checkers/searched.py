"""Check that no order of macros stays within a budget, for order.py: joins, and each state that is left."""
# docs/proofs.md has the lines, and proves the rules sound.

from collections import Counter

Refused = type("Refused", (Exception,), {})


def bits(numbers):
    """Return a set of numbers as the bits of one."""
    return sum(1 << k for k in set(numbers))


class Macros:
    """Operations in a row, known by the first of them; sets of operations are bits, those of a macro all or none."""

    def __init__(self, graph):
        n = len(graph.ops)
        self.graph, self.every = graph, (1 << n) - 1
        self.rows, self.bits = {k: [k] for k in range(n)}, [1 << k for k in range(n)]
        self.before, self.after = [0] * n, [0] * n
        for k in range(n):
            for j in graph.before[k]:
                self.before[k] |= self.before[j] | 1 << j
        for k in reversed(range(n)):
            for j in graph.before[k]:
                self.after[j] |= self.after[k] | 1 << k
        self.users, self.known, self.seen = [bits(some) for some in graph.users], {}, [0] * n
        self.rise, self.makes, self.ends, self.over = list(graph.work), *([[] for _ in range(n)] for _ in range(3))
        for t, size in enumerate(graph.size):
            maker = graph.maker[t]
            if maker is not None:
                self.rise[maker] += size
                self.makes[maker].append((size, self.users[t], t in graph.lasting))
                self.seen[maker] |= self.users[t]
            for k in graph.users[t] if t not in graph.lasting else ():
                self.ends[k].append((size, self.users[t], 0 if maker is None else 1 << maker))
                self.seen[k] |= self.users[t] | self.ends[k][-1][2]
        for k, op in enumerate(graph.ops):
            found = {}
            for o, j in op.get("may_overwrite") or ():
                o, t = op["out"][o], op["in"][j]
                if (
                    graph.maker[o] == k
                    and t not in graph.lasting
                    and t not in op["out"]
                    and graph.size[o] <= graph.size[t]
                ):
                    found.setdefault(o, set()).add(t)
            self.over[k] = sorted((-graph.size[o], o, sorted(some)) for o, some in found.items())

    def saved(self, k, done):
        """Return the most bytes of outputs that an operation can write over inputs that nothing else will need."""
        holds, total = {}, 0

        def finds(row, tried):
            for t in row[2]:
                if t not in tried and not self.users[t] & ~done & ~(1 << k):
                    tried.add(t)
                    if t not in holds or finds(holds[t], tried):
                        holds[t] = row
                        return True
            return False

        for row in self.over[k]:
            total -= row[0] if finds(row, set()) else 0
        return total

    def run(self, v, done):
        """Return the most bytes that are alive while a macro runs, and those after it, less those alive before it."""
        if (key := (v, len(self.rows[v]), done & self.seen[v])) in self.known:
            return self.known[key]
        top = net = 0
        for k in self.rows[v]:
            top = max(top, net + self.rise[k] - (self.saved(k, done) if self.over[k] else 0))
            done |= 1 << k
            for size, users, is_lasting in self.makes[k]:
                net += size if is_lasting or users & ~done else 0
            for size, users, maker in self.ends[k]:
                net -= size if not (users | maker) & ~done else 0
        self.known[key] = top, net
        return top, net

    def join(self, u, v):
        """Let v run right after u, always: v may if u can, and does no harm, or u has no use but for v."""
        # The less has run, the more bytes a macro adds: so these are bounds over all states.
        (most_u, high_u), (most_v, high_v) = (self.run(w, self.before[w]) for w in (u, v))
        (least_u, low_u), (least_v, _) = (self.run(w, self.every & ~self.after[w] & ~self.bits[w]) for w in (u, v))
        at_once = self.before[v] == self.before[u] | self.bits[u] and high_v <= 0 and high_u + most_v <= least_u
        not_yet = self.after[u] == self.after[v] | self.bits[v] and low_u >= 0 and most_u <= low_u + least_v
        if u == v or not (at_once or not_yet):
            raise Refused(f"a join of {u} and {v} that may be worse")
        both = self.bits[u] = self.bits[u] | self.bits[v]
        self.rows[u] += self.rows.pop(v)
        self.seen[u] |= self.seen[v]
        before, after = (self.before[u] | self.before[v]) & ~both, (self.after[u] | self.after[v]) & ~both
        self.before[u], self.after[u] = before, after
        for w in self.rows:
            self.after[w] |= both | after if self.bits[w] & before else 0
            self.before[w] |= both | before if self.bits[w] & after else 0


class Search:
    """States between two that each order has, from the first on, or from the last one back; bytes alive in each."""

    def __init__(self, macros, part, is_forward, budget):
        self.macros, self.part, self.is_forward, self.budget = macros, part, is_forward, budget
        inside = first = 0
        for v in part:
            inside |= macros.bits[v]
            first |= macros.before[v]
        first &= ~inside
        for v in macros.rows:
            state = first if macros.bits[v] & inside else first | inside
            if not macros.bits[v] & first and state & ~macros.before[v]:
                raise Refused("macros that others may change places with")
        start, self.goal = (first, first | inside) if is_forward else (first | inside, first)
        done = {k for k in range(len(macros.graph.ops)) if start >> k & 1}
        self.alive, self.waiting, self.at, self.swaps = {start: macros.graph.alive_after(done)}, [start], 0, []

    def next(self):
        """Return the state that has waited longest."""
        if self.at == len(self.waiting):
            raise Refused("more is said than there are states")
        self.at += 1
        return self.waiting[self.at - 1]

    def step(self, state, alive, v):
        """Return the state after a macro runs, or before it, the bytes meanwhile, and the bytes then; None: not yet."""
        macros, mine = self.macros, self.macros.bits[v]
        if self.is_forward:
            if mine & state or macros.before[v] & ~state:
                return None
            top, net = macros.run(v, state)
            return state | mine, alive + top, alive + net
        if not mine & state or macros.after[v] & state:
            return None
        top, net = macros.run(v, state & ~mine)
        return state & ~mine, alive - net + top, alive - net

    def reach(self, state, alive):
        """Let a state wait, if it is new; an order within the budget must not end here."""
        if state == self.goal:
            raise Refused("an order within the bytes")
        if state not in self.alive:
            self.alive[state] = alive
            self.waiting.append(state)

    def branch(self, state):
        """Run whatever can run within the budget."""
        alive = self.alive[state]
        for v in self.part:
            found = self.step(state, alive, v)
            if found and found[1] <= self.budget:
                self.reach(found[0], found[2])

    def commit(self, state, row):
        """Run macros without a choice: each rise is paid for by falls of later ones that must come after it."""
        alive, change = self.alive[state], []
        for v in row:
            found = self.step(state, alive, v)
            if not found or found[1] > self.budget:
                raise Refused(f"a run that cannot be: {v}")
            change.append(found[2] - alive)
            state, _, alive = found
        follow = self.macros.after if self.is_forward else self.macros.before
        for j in reversed(range(len(row))):
            for i in range(j + 1, len(row) if change[j] > 0 else 0):
                if change[i] < 0 and self.macros.bits[row[i]] & follow[row[j]]:
                    paid = min(max(change[j], 0), -change[i])
                    change[i] += paid
                    change[j] -= paid
            if change[j] > 0:
                raise Refused(f"a run whose bytes are not paid for: {row[j]}")
        self.reach(state, alive)

    def swap(self, pairs):
        """Take it that macros of a part may change places in pairs, which changes nothing but their names."""
        macros, graph, image = self.macros, self.macros.graph, list(range(len(self.macros.graph.ops)))
        for pair in pairs:
            a, b = (macros.rows[v] for v in pair)
            if len(a) != len(b) or not {*pair} <= {*self.part} or any(image[k] != k for k in a + b):
                raise Refused("a swap of what is not alike")
            for j, k in zip(a, b):
                image[j], image[k] = k, j
        moved = {j for j, k in enumerate(image) if j != k}
        near = [t for t, some in enumerate(graph.users) if graph.maker[t] in moved or some & moved]
        look = lambda t, name: (
            graph.size[t], t in graph.lasting, None if graph.maker[t] is None else name[graph.maker[t]],
            frozenset(name[k] for k in graph.users[t]))  # fmt: skip
        same = Counter(look(t, image) for t in near) == Counter(look(t, range(len(image))) for t in near)
        over = {t for k in range(len(image)) for _, _, some in macros.over[k] for t in some}
        alike = all(
            graph.work[j] == graph.work[k] and {image[i] for i in graph.before[j]} == graph.before[k]
            for j, k in enumerate(image)
        )  # fmt: skip
        if not (same and alike) or any(macros.over[k] for k in moved) or any(
            {image[k] for k in graph.users[t]} != graph.users[t] for t in over
        ):  # fmt: skip
            raise Refused("a swap of what is not alike")
        self.swaps.append([(macros.bits[a], macros.bits[b]) for a, b in pairs])

    def swapped(self, state, k):
        """Return a state with the macros of a swap in each other's places."""
        for a, b in self.swaps[k]:
            state ^= a | b if bool(state & a) != bool(state & b) else 0
        return state

    def rename(self, state, swaps):
        """Go on with a state after swaps in turn, which must be a smaller number."""
        image = state
        for k in swaps:
            image = self.swapped(image, k)
        if image >= state:
            raise Refused("a state that is renamed to a later one")
        self.reach(image, self.alive[state])


def no_order(graph, budget, lines):
    """Raise Refused unless lines say, state by state, why no order of some macros stays within a budget."""
    macros, search = Macros(graph), None
    for kind, *words in lines:
        if kind == "search" and search is None:
            search = Search(macros, [*map(int, words[1:])], {"forward": True, "backward": False}[words[0]], budget)
        elif kind == "join" and search is None:
            macros.join(*map(int, words))
        elif search is None:
            raise Refused("it is of another format")
        elif kind == "swap":
            search.swap([[*map(int, word.split(":"))] for word in words])
        elif kind == "all":
            for _ in range(int(words[0])):
                search.branch(search.next())
        elif kind == "run" and words:
            search.commit(search.next(), [*map(int, words)])
        elif kind == "as":
            search.rename(search.next(), [*map(int, words)])
        else:
            raise Refused("it is of another format")
    if search is None or search.at < len(search.waiting):
        raise Refused("states that nothing is said of")
