"""Macros (sequences of operations merged into one) for searched.py: their live bytes, and a rule for merging two."""
# docs/certificates.md proves that these rules for merging operations into macros are sound.

Refused = type("Refused", (Exception,), {})


def bits(numbers):
    """Return the bit mask whose set bits are the given numbers."""
    return sum(1 << k for k in set(numbers))


class Macros:
    """Operations merged into sequences, each named by its first operation; a state is a bit mask of operations."""

    def __init__(self, graph):
        """Start with one macro for each operation, and collect how each operation changes the live bytes."""
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
            groups = {}
            for o, j in op.get("may_overwrite") or ():
                o, t = op["out"][o], op["in"][j]
                if (
                    graph.maker[o] == k
                    and t not in graph.lasting
                    and t not in op["out"]
                    and graph.size[o] <= graph.size[t]
                ):
                    groups.setdefault(o, set()).add(t)
            self.over[k] = sorted((-graph.size[o], o, sorted(some)) for o, some in groups.items())

    def saved_bytes(self, k, done):
        """Return the most bytes that operation k's outputs can save: they overwrite inputs whose last reader is k."""
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
        """Return the peak of live bytes during macro v, and the live bytes after it.

        Both are relative to the live bytes after the operations `done`.
        """
        if (key := (v, len(self.rows[v]), done & self.seen[v])) in self.known:
            return self.known[key]
        top = net = 0
        for k in self.rows[v]:
            top = max(top, net + self.rise[k] - (self.saved_bytes(k, done) if self.over[k] else 0))
            done |= 1 << k
            for size, users, is_lasting in self.makes[k]:
                net += size if is_lasting or users & ~done else 0
            for size, users, maker in self.ends[k]:
                net -= size if not (users | maker) & ~done else 0
        self.known[key] = top, net
        return top, net

    def join(self, u, v):
        """Append macro v to macro u. Raises Refused unless running v right after u is proved not to raise the peak."""
        # A macro adds the most bytes if it runs as early as possible and the fewest if it runs last: check both cases.
        (most_u, high_u), (most_v, high_v) = (self.run(w, self.before[w]) for w in (u, v))
        (least_u, low_u), (least_v, _) = (self.run(w, self.every & ~self.after[w] & ~self.bits[w]) for w in (u, v))
        at_once = self.before[v] == self.before[u] | self.bits[u] and high_v <= 0 and high_u + most_v <= least_u
        not_yet = self.after[u] == self.after[v] | self.bits[v] and low_u >= 0 and most_u <= low_u + least_v
        if u == v or not (at_once or not_yet):
            raise Refused(f"join: macros {u} and {v} must not need more bytes together than apart")
        both = self.bits[u] = self.bits[u] | self.bits[v]
        self.rows[u] += self.rows.pop(v)
        self.seen[u] |= self.seen[v]
        before, after = (self.before[u] | self.before[v]) & ~both, (self.after[u] | self.after[v]) & ~both
        self.before[u], self.after[u] = before, after
        for w in self.rows:
            self.after[w] |= both | after if self.bits[w] & before else 0
            self.before[w] |= both | before if self.bits[w] & after else 0
