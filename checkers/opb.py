"""The pseudo-Boolean formula (OPB) of a problem with one pool; variables are bits of offsets and pair orders."""

from itertools import combinations


class Formula:
    """The linear constraints of a problem, numbered from 1; the variables are bits of offsets and orders of pairs."""

    def __init__(self, rows, end):
        """Add the constraints that offsets are at most their largest values and conflicting buffers are ordered."""
        self.rows, self.size = rows, rows.size
        self.lines = []
        self.names = set()
        self.grid = {}
        """Maps a buffer to (step, rest, largest y, number of bits of y), where its offset is rest + step * y."""
        self.below = {}
        """Maps a conflicting pair (i, j) to the number of the constraint "if the variable si_j is 1, i is below j"."""
        for i in sorted(rows.solid):
            step, rest, _ = rows.place(i, 0)
            last = (end - self.size[i] - rest) // step
            self.grid[i] = (step, rest, last, max(1, last.bit_length() if last > 0 else 1))
            self._add_constraint([(-1 << k, f"b{i}_{k}") for k in range(self.grid[i][3])], -last)
        for i, j in combinations(self.grid, 2):
            if rows.meets(i, j):
                self._add_constraint([(1, f"s{i}_{j}"), (1, f"s{j}_{i}")], 1)
                self.below[i, j] = self._add_order(i, j)
                self.below[j, i] = self._add_order(j, i)

    def value(self, i, y):
        """Return the offset of buffer i when its integer variable is `y`."""
        step, rest, _, _ = self.grid[i]
        return rest + step * y

    def min_step(self, i, at):
        """Return the least y that puts buffer i at offset `at` or above; if there is none, the largest y plus one."""
        step, rest, last, _ = self.grid[i]
        return max(0, min(last + 1, -((rest - at) // step)))

    def text(self):
        """Return the formula as the text of an OPB file."""
        head = f"* #variable= {len(self.names)} #constraint= {len(self.lines)}"
        return "\n".join([head, *self.lines]) + "\n"

    def _add_order(self, i, j):
        (step, rest, _, bits), (above, start, _, more) = self.grid[i], self.grid[j]
        least = self.size[i] + rest - start
        slack = max(0, least + step * ((1 << bits) - 1))
        terms = [(above << k, f"b{j}_{k}") for k in range(more)] + [(-step << k, f"b{i}_{k}") for k in range(bits)]
        return self._add_constraint([*terms, (-slack, f"s{i}_{j}")], least - slack)

    def _add_constraint(self, terms, least):
        terms = list(terms)
        self.names.update(name for _, name in terms)
        self.lines.append(" ".join([*(f"{factor:+d} {name}" for factor, name in terms), f">= {least} ;"]))
        return len(self.lines)
