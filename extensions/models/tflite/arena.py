"""TFLite Micro's implementation of `memplan.planner.foreign.arena`: arena sizes by the runtime's rules, and trial runs.

Whatever the target, trials use the installed runtime, which is built for the host, with the smallest arena that
suffices on the host.
"""

from collections.abc import Mapping
from dataclasses import replace

from memplan.extensions.models.tflite import interpreter
from memplan.extensions.models.tflite.interpreter import LIMIT_S
from memplan.extensions.models.tflite.model import Model, read_model
from memplan.extensions.models.tflite.tflm_tail import arena_of as arena_of
from memplan.extensions.models.tflite.tflm_tail import host_options
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.foreign.model_options import ModelOptions


def runtime_verdict(data: bytes, options: ModelOptions | None = None) -> str:
    """Run a model in its smallest arena, and return the runtime's report, worded to continue a sentence."""
    return interpreter.measure(data, arena_of(data, host_options(options)).least)


def compare_forms(
    given: bytes, form: bytes, options: ModelOptions | None = None, limit_s: float = LIMIT_S
) -> tuple[bool | None, str]:
    """Return whether a form (rewritten version) of a model computes the same as the original, and the runtime's report.

    The first value is None if the runtime cannot tell.
    """
    both = ((data, form_options(given, data, options)) for data in (given, form))
    before, now = (arena_of(data, host_options(chosen)).least for data, chosen in both)
    return interpreter.compare_outputs(given, form, (before, now), limit_s)


def form_options(given: bytes, form: bytes, options: ModelOptions | None) -> ModelOptions | None:
    """Return the options for a form (rewritten version) of a model, in which an operator may have another number.

    Scratch that the user states for a single operator is therefore keyed by the operator's first output. Raises
    OptionError if the form has such an operator in parts, because the scratch of the parts is not stated.
    """
    if options is None or not options.scratch or form == given:
        return options
    model = replace(read_model(given), scratch=options.scratch)
    names = {operator.name for graph in model.subgraphs for operator in graph.operators}
    by_name = {name: size for name, size in options.scratch.items() if name in names}
    said = _scratch_by_output(model, by_name)
    rows = _operators_by_output(read_model(form))
    if changed := next((name for name, (_, kind) in said.items() if rows.get(name) != kind), None):
        raise OptionError.from_rule(
            "scratch",
            "must be of all operators of a name, or of an operator that stays whole in the new form, got "
            f"{excerpt(changed)}",
        )
    return options.model_copy(update={"scratch": by_name | {name: size for name, (size, _) in said.items()}})


_Kind = tuple[str, tuple[int, ...]]
"""An operator's name, and the shape of its output."""


def _scratch_by_output(model: Model, by_name: Mapping[str, int]) -> dict[str, tuple[int, _Kind]]:
    """Return (scratch bytes, kind) of each operator with scratch stated for it alone, by its first output."""
    whole = replace(model, scratch=by_name)
    found: dict[str, tuple[int, _Kind]] = {}
    for i, graph in enumerate(model.subgraphs):
        for k, operator in enumerate(graph.operators):
            size = model.stated_scratch(i, k)
            if size is not None and (size != whole.stated_scratch(i, k)):
                tensor = graph.tensors[operator.outputs[0]] if operator.outputs else None
                found[tensor.id if tensor else operator.path] = size, (operator.name, tensor.shape if tensor else ())
    return found


def _operators_by_output(model: Model) -> dict[str, _Kind]:
    """Return the kind (name, output shape) of each operator, by the id of its first output."""
    return {
        graph.tensors[index].id: (operator.name, graph.tensors[index].shape)
        for graph in model.subgraphs
        for operator in graph.operators
        for index in operator.outputs[:1]
    }
