"""Imported programs: the operations of a file, and the problem of placing their buffers, which follows from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from memplan.planner.foreign.imported import BufferUses, ImportedProblem
from memplan.planner.foreign.program_names import ProgramNames
from memplan.planner.model.problem import Problem
from memplan.programs.lifetimes import expand, problem_of, read_before_written
from memplan.programs.lifetimes.accesses import uses_of
from memplan.programs.lifetimes.weights import weights_of
from memplan.programs.models.over_inputs import problem_in_place
from memplan.programs.models.program_names import program_names
from memplan.programs.operations.graph_facts import ProgramFacts
from memplan.programs.operations.operations import Operations, operations_from
from memplan.programs.operations.program_graph import facts_of_names


@dataclass(frozen=True, eq=False)
class ImportedProgram(ImportedProblem):
    """A problem that was derived from the operations of a file.

    `facts` has facts about the operations that do not depend on their order. `symbolic_sizes` has the buffer sizes that
    depend on symbols, each as a `SymbolicNumber` of the extension `shapes`.
    """

    operations: Operations = field(kw_only=True)
    facts: ProgramFacts = field(default_factory=ProgramFacts)
    symbolic_sizes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> ProgramNames:
        """The program's names for the problem: labels of time steps, loops, and roles and types of buffers."""
        return program_names(self.operations, self.problem, self.facts)

    @property
    def constants(self) -> tuple[Mapping[str, Any], ...]:
        """The constants of all called functions, as rows of buffers that have no lifetimes."""
        return tuple(
            {"id": one.id, "size": one.size, "alignment": one.alignment, "traffic": one.traffic}
            for one in weights_of(self.operations)
            if one.size
        )

    @property
    def ends(self) -> tuple[str, ...]:
        """The ids of the buffers that are inputs or outputs of the entry function, without aliases."""
        entry = self.operations.functions[self.operations.entry]
        ends = dict.fromkeys(
            name for name in (*entry.params, *entry.results) if entry.declarations[name].alias_of is None
        )
        return tuple(f"{self.operations.entry}/{name}" for name in ends)

    @property
    def state_ids(self) -> tuple[str, ...]:
        """The ids of the buffers, of all called functions, that keep their bytes between two runs of the program."""
        return tuple(row.id for row in expand(self.operations).variables if row.is_persistent)

    @property
    def uses(self) -> Mapping[str, BufferUses]:
        """The accesses of operations to buffers and constants, by id; raises OptionError for branches and loops."""
        return uses_of(self.operations)

    def problem_in_place(self, spared: Sequence[str]) -> Problem:
        """Return the problem if operations overwrite inputs not in `spared`; raises OptionError for unknown names."""
        return problem_in_place(self.problem, self.operations, self.facts, spared)


def read_operations(value: object) -> ImportedProgram:
    """Return the program in a parsed JSON value, with the problem of its buffers; raises OperationsError if invalid."""
    operations = operations_from(value)
    return ImportedProgram(
        partial(problem_of, operations),
        warnings=read_before_written(operations),
        operations=operations,
        facts=facts_of_names(operations),
    )
