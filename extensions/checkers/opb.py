"""The pseudo-Boolean formula (OPB) of a one-pool problem, over the bits of offsets and the order of each pair."""

from itertools import combinations


class Formula:
    """The linear constraints of a problem, numbered from 1, over bits of offsets and a selector per pair order."""

    def __init__(self, rows, end):
        self.rows, self.size = rows, rows.size
        self.lines = []
        self.names = set()
        self.grid = {}
        """For each buffer, (step, rest, largest y, number of bits of y): its offset is rest + step * y."""
        self.below = {}
        """For each ordered conflicting pair (i, j), the number of the constraint that i is below j if selected."""
        for i in sorted(rows.solid):
            step, rest, _ = rows.place(i, 0)
            last = (end - self.size[i] - rest) // step
            self.grid[i] = (step, rest, last, max(1, last.bit_length() if last > 0 else 1))
            self._add([(-1 << k, f"b{i}_{k}") for k in range(self.grid[i][3])], -last)
        for i, j in combinations(self.grid, 2):
            if rows.meets(i, j):
                self._add([(1, f"s{i}_{j}"), (1, f"s{j}_{i}")], 1)
                self.below[i, j] = self._add_order(i, j)
                self.below[j, i] = self._add_order(j, i)

    def value(self, i, y):
        """Return the offset of buffer i for a value of its y."""
        step, rest, _, _ = self.grid[i]
        return rest + step * y

    def min_step(self, i, at):
        """Return the least y of buffer i whose offset is at least `at`, or the largest y plus one if none is."""
        step, rest, last, _ = self.grid[i]
        return max(0, min(last + 1, -((rest - at) // step)))

    def text(self):
        """Return the formula as a file in OPB format."""
        head = f"* #variable= {len(self.names)} #constraint= {len(self.lines)}"
        return "\n".join([head, *self.lines]) + "\n"

    def _add_order(self, i, j):
        (step, rest, _, bits), (above, start, _, more) = self.grid[i], self.grid[j]
        least = self.size[i] + rest - start
        slack = max(0, least + step * ((1 << bits) - 1))
        terms = [(above << k, f"b{j}_{k}") for k in range(more)] + [(-step << k, f"b{i}_{k}") for k in range(bits)]
        return self._add([*terms, (-slack, f"s{i}_{j}")], least - slack)

    def _add(self, terms, least):
        terms = list(terms)
        self.names.update(name for _, name in terms)
        self.lines.append(" ".join([*(f"{factor:+d} {name}" for factor, name in terms), f">= {least} ;"]))
        return len(self.lines)
