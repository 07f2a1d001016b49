"""The arena sizes of TFLite Micro by the runtime's rules, and trial runs of models in the installed runtime.

The functions implement the interface `memplan.planner.foreign.arena`. Trials use the installed runtime, which is built
for the host, in the smallest arena for the host, whatever the target.
"""

from collections.abc import Mapping
from dataclasses import replace

from memplan.planner.errors import OptionError, excerpt
from memplan.planner.foreign.model_options import ModelOptions
from memplan.runtimes.tflite import interpreter
from memplan.runtimes.tflite.interpreter import LIMIT_S
from memplan.runtimes.tflite.model import Model, read_model
from memplan.runtimes.tflite.tflm_tail import arena_of as arena_of
from memplan.runtimes.tflite.tflm_tail import host_options
from memplan.runtimes.tflite.tflm_targets import target_of


def compiler(options: ModelOptions) -> str:
    """Return the command of the C compiler for the processor that the options name."""
    return target_of(options.target, options.kernels).compiler


def runtime_verdict(data: bytes, options: ModelOptions | None = None) -> str:
    """Run a model in the smallest arena for the host; return the runtime's report as text that continues a sentence."""
    return interpreter.measure(data, arena_of(data, host_options(options)).least)


def compare_forms(
    given: bytes, form: bytes, options: ModelOptions | None = None, limit_s: float = LIMIT_S
) -> tuple[bool | None, str]:
    """Return whether a form (rewritten version) of a model computes the same as the original, and the runtime's report.

    The first value is None if the runtime is missing, too slow, or cannot run the original.
    """
    both = ((data, form_options(given, data, options)) for data in (given, form))
    before, now = (arena_of(data, host_options(chosen)).least for data, chosen in both)
    return interpreter.compare_outputs(given, form, (before, now), limit_s)


def form_options(given: bytes, form: bytes, options: ModelOptions | None) -> ModelOptions | None:
    """Return the options for `form`, a rewritten version of the model `given` with other operator numbers.

    Scratch that the user states for a single operator gets that operator's first output as its key. Raises OptionError
    if such an operator is split in the form, because the scratch of its parts is not stated.
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
            f"must name an operator type, or one operator that the new form does not split, got {excerpt(changed)}",
        )
    return options.model_copy(update={"scratch": by_name | {name: size for name, (size, _) in said.items()}})


_Kind = tuple[str, tuple[int, ...]]
"""An operator's name, and the shape of its output."""


def _scratch_by_output(model: Model, by_name: Mapping[str, int]) -> dict[str, tuple[int, _Kind]]:
    """Return (scratch bytes, kind) by operator, for scratch stated by an operator's output or number.

    The key is the id of the operator's first output. `by_name` has the scratch stated for all operators of a name.
    """
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
    return {
        graph.tensors[index].id: (operator.name, graph.tensors[index].shape)
        for graph in model.subgraphs
        for operator in graph.operators
        for index in operator.outputs[:1]
    }
