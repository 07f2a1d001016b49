"""The variables of a program's calls: each call has its own buffers, and its arguments are the caller's variables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm

from memplan.planner.errors import OperationsError, excerpt
from memplan.planner.model.rows import MAX_BYTES
from memplan.programs.lifetimes.timeline import NOWHERE, Action, Activation, Mark, Role, Variable
from memplan.programs.operations.operations import DeclaredBuffer, Function, Operations


@dataclass(frozen=True)
class CallWorkspace:
    """The bytes in one pool that a call needs besides its arguments, if each function is planned separately."""

    pool: str
    size: int
    alignment: int


class Activations:
    """The calls of a program that have begun so far, in program order, and the variables of these calls."""

    def __init__(self, operations: Operations) -> None:
        """Start without any call of the program's functions."""
        self.operations = operations
        self.found: list[Activation] = []
        self.variables: list[Variable] = []
        self.characters = 0

    def begin(self, name: str, path: str, stretch: int, bound: Mapping[str, int]) -> dict[str, int]:
        """Begin a call of the function `name`; return the index of each of the call's variables by buffer name.

        `path` names the call, `stretch` is the index of its time span, and `bound` maps parameters to the caller's
        variables.
        """
        function = self.operations.functions[name]
        for formal, variable in bound.items():
            self._bind_formal(path, function.declarations[formal], variable)
        activation = len(self.found)
        self.found.append(Activation(path, name, stretch, len(self.variables)))
        names = dict(bound)
        for row in sorted(function.buffers, key=lambda row: row.alias_of is not None):
            if row.id not in bound:
                names[row.id] = len(self.variables)
                self._add_variable(self._new_variable(row, function, activation, names))
        return names

    def end(self, activation: int) -> None:
        """Record that a call has ended, so that variables added later do not belong to the call."""
        self.found[activation] = replace(self.found[activation], after_variables=len(self.variables))

    def mark(self, variable: int, stretch: int, action: Action, *, is_passed: bool = False) -> None:
        """Record an action of statement number `stretch` on a variable; `is_passed`: by a call that passes it."""
        self.variables[variable].marks.append(Mark(stretch, action, is_passed))

    def add_workspaces(self, path: str, activation: int, stretch: int, workspaces: Sequence[CallWorkspace]) -> None:
        """Add a temporary variable for each workspace of a call; it is alive only while the call runs."""
        for workspace in workspaces:
            name = path if len(workspaces) == 1 else f"{path}/{workspace.pool}"
            row = Variable(name, workspace.size, workspace.alignment, (workspace.pool,), "temporary", activation)
            self._add_variable(row)
            self.mark(len(self.variables) - 1, stretch, "scratch")

    def _add_variable(self, variable: Variable) -> None:
        self.characters += len(self.found[variable.activation].path)
        self.variables.append(variable)

    def _new_variable(
        self, row: DeclaredBuffer, function: Function, activation: int, names: Mapping[str, int]
    ) -> Variable:
        """Return a call's variable for the declared buffer `row`; `names` maps buffer names to variable indices."""
        name = f"{self.found[activation].path}/{row.id}"
        made = Variable(
            name, row.bytes, row.alignment, row.pools, _role_of(function, row.id), activation, row.persistent
        )
        if row.alias_of is not None:
            inside = self.variables[names[row.alias_of]]
            is_root = inside.root == NOWHERE
            made.root = names[row.alias_of] if is_root else inside.root
            made.distance = row.alias_offset + (0 if is_root else inside.distance)
            made.role = inside.role
        return made

    def _bind_formal(self, path: str, formal: DeclaredBuffer, variable: int) -> None:
        """Apply a parameter's pools and alignment to a passed variable; raises OperationsError if no pool remains."""
        row = self.variables[variable]
        row.alignment = lcm(row.alignment, formal.alignment)
        if row.alignment > MAX_BYTES:
            raise OperationsError(f"{row.id}: alignment must be at most {MAX_BYTES}, got {row.alignment} for {path}")
        if formal.pools is not None:
            allowed = row.pools or tuple(pool.name for pool in self.operations.pools)
            row.pools = tuple(pool for pool in allowed if pool in formal.pools)
            if not row.pools:
                raise OperationsError(
                    f"{row.id}: must have a pool that {path} allows for {excerpt(formal.id)} "
                    f"({', '.join(formal.pools)}), got {', '.join(allowed)}"
                )


def _role_of(function: Function, name: str) -> Role:
    if name in function.params:
        return "input"
    if name in function.results:
        return "output"
    return "constant" if name in function.constants else "temporary"
