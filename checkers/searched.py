"""Checks a proof, for order.py, that no order of macros (merged operations) stays within a budget of live bytes."""
# docs/certificates.md defines the lines of this proof, and proves that its rules are sound.

from collections import Counter
from importlib import import_module

found = import_module(f"{__package__ or ''}.macros".lstrip("."))
Refused, Macros = found.Refused, found.Macros


class Search:
    """A search of all states between two given states, forward or backward.

    Every order passes through both given states. A state is the set of operations that have run, as a bit mask; the
    search stores its live bytes.
    """

    def __init__(self, macros, part, is_forward, budget):
        """Find the two end states of the macros in `part`. Raises Refused unless every order passes both."""
        self.macros, self.part, self.is_forward, self.budget = macros, part, is_forward, budget
        inside = first = 0
        for v in part:
            inside |= macros.bits[v]
            first |= macros.before[v]
        first &= ~inside
        for v in macros.rows:
            state = first if macros.bits[v] & inside else first | inside
            if not macros.bits[v] & first and state & ~macros.before[v]:
                raise Refused("every order must run the macros of the part without other macros in between")
        start, self.goal = (first, first | inside) if is_forward else (first | inside, first)
        done = {k for k in range(len(macros.graph.ops)) if start >> k & 1}
        self.alive, self.waiting, self.at, self.swaps = {start: macros.graph.alive_after(done)}, [start], 0, []

    def next_state(self):
        """Return the next state of the queue (first in, first out). Raises Refused if the queue is empty."""
        if self.at == len(self.waiting):
            raise Refused("the proof must not have more lines than states")
        self.at += 1
        return self.waiting[self.at - 1]

    def step(self, state, alive, v):
        """Return (state after macro v, peak of live bytes during v, live bytes after v), or None if v cannot run."""
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
        """Queue a new state with its live bytes. Raises Refused at the goal state: an order then exists."""
        if state == self.goal:
            raise Refused("the certificate claims that no order stays within the budget, but one does")
        if state not in self.alive:
            self.alive[state] = alive
            self.waiting.append(state)

    def branch(self, state):
        """Queue every state that one macro can reach from `state` within the budget."""
        alive = self.alive[state]
        for v in self.part:
            reached = self.step(state, alive, v)
            if reached and reached[1] <= self.budget:
                self.reach(reached[0], reached[2])

    def commit(self, state, row):
        """Queue only the state after the macros `row`, instead of every state after a single macro.

        This loses no order if each increase of live bytes in `row` is offset by a later decrease that depends on it.
        """
        alive, change = self.alive[state], []
        for v in row:
            reached = self.step(state, alive, v)
            if not reached or reached[1] > self.budget:
                raise Refused(f"every macro of a run must be possible within the budget, but macro {v} is not")
            change.append(reached[2] - alive)
            state, _, alive = reached
        follow = self.macros.after if self.is_forward else self.macros.before
        for j in reversed(range(len(row))):
            for i in range(j + 1, len(row) if change[j] > 0 else 0):
                if change[i] < 0 and self.macros.bits[row[i]] & follow[row[j]]:
                    paid = min(max(change[j], 0), -change[i])
                    change[i] += paid
                    change[j] -= paid
            if change[j] > 0:
                raise Refused(f"a run must compensate for each increase of bytes, but that of macro {row[j]} remains")
        self.reach(state, alive)

    def swap(self, pairs):
        """Add a symmetry, which exchanges the macros in each pair; refuse it if it does not map the graph to itself."""
        macros, graph, image = self.macros, self.macros.graph, list(range(len(self.macros.graph.ops)))
        for pair in pairs:
            a, b = (macros.rows[v] for v in pair)
            if len(a) != len(b) or not {*pair} <= {*self.part} or any(image[k] != k for k in a + b):
                raise Refused("a swap must be of distinct macros of the part with equal lengths")
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
            raise Refused("a swap must map the graph to itself")
        self.swaps.append([(macros.bits[a], macros.bits[b]) for a, b in pairs])

    def swap_macros(self, state, k):
        """Return the state after swap number k; the swap exchanges the macros in each of its pairs."""
        for a, b in self.swaps[k]:
            state ^= a | b if bool(state & a) != bool(state & b) else 0
        return state

    def rename(self, state, swaps):
        """Queue the image of a state under several swaps. Raises Refused unless the image's bit mask is smaller."""
        image = state
        for k in swaps:
            image = self.swap_macros(image, k)
        if image >= state:
            raise Refused("swaps must lead to a state with a smaller bit mask, got an equal or larger one")
        self.reach(image, self.alive[state])


def no_order(graph, budget, lines):
    """Raise Refused unless the `lines` prove that every order of the operations exceeds the budget of live bytes."""
    macros, search = Macros(graph), None
    for kind, *words in lines:
        if kind == "search" and search is None:
            search = Search(macros, [*map(int, words[1:])], {"forward": True, "backward": False}[words[0]], budget)
        elif kind == "join" and search is None:
            macros.join(*map(int, words))
        elif search is None:
            raise Refused("the certificate must have the format memplan-order/1")
        elif kind == "swap":
            search.swap([[*map(int, word.split(":"))] for word in words])
        elif kind == "all":
            for _ in range(int(words[0])):
                search.branch(search.next_state())
        elif kind == "run" and words:
            search.commit(search.next_state(), [*map(int, words)])
        elif kind == "as":
            search.rename(search.next_state(), [*map(int, words)])
        else:
            raise Refused("the certificate must have the format memplan-order/1")
    if search is None or search.at < len(search.waiting):
        raise Refused("the certificate must have a line for each state that the search reaches")
