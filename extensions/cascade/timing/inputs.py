"""The input `target`: a machine in memplan's own JSON, or in a hardware file of DORY.

A DORY file has memories L1, L2 and so on, with their sizes in bytes, and the bandwidth (bytes per cycle) and latency
(cycles) of the link from each to the next faster one. Source: dory/Hardware_targets in pulp-platform/dory.
"""

from collections.abc import Mapping
from typing import Any

from memplan.extensions.cascade.timing.target import Target
from memplan.planner.errors import FormatError, ProblemError, excerpt
from memplan.planner.formats import memplan_json
from memplan.questions.inputs.values import Input


def target_of_hardware_file(fields: object) -> dict[str, Any] | None:
    """Return the target in a DORY hardware file as JSON, None for other JSON; raises FormatError if a number lacks."""
    rates = fields.get("peak MAC/cycle") if isinstance(fields, Mapping) else None
    if not isinstance(fields, Mapping) or not isinstance(rates, Mapping):
        return None
    memory, stacks = fields.get("memory", {}), fields.get("HW specific parameters", {})
    names = [f"L{k + 1}" for k in range(memory.get("levels", 2))]

    def level_value(level: str, name: str) -> Any:
        """Return the number `name` of a memory level in the hardware file; raises FormatError if it is missing."""
        value = memory.get(level, {}).get(name)
        if not isinstance(value, int | float):
            unit = {"bandwidth": "bytes per cycle", "latency": "cycles"}.get(name, "bytes")
            raise FormatError(f"memory.{level}.{name}: must be a number in {unit}, such as 8, got {excerpt(value)}")
        return value

    stack = stacks.get("accelerator core0 stack", 0) + 7 * stacks.get("accelerator core1-7 stack", 0)
    rate = next((rate for rate in rates.values() if rate), None)
    if rate is None:
        raise FormatError('peak MAC/cycle: must have a number, such as {"8bits": 32}, got none')
    sizes = [level_value(name, "dimension") - (stack if k == 0 else 0) for k, name in enumerate(names[:-1])]
    memories = [{"name": name, "capacity": size} for name, size in zip(names[:-1], sizes, strict=True)]
    return {
        "name": str(fields.get("name") or "DORY"),
        "memories": [*memories, {"name": names[-1]}],
        "links": [{name: level_value(level, name) for name in ("bandwidth", "latency")} for level in names[1:]],
        "engine": {"native": [1, 1], "copies": fields.get("double_buffering", 2), "rate": rate},
    }


def _target_of(value: object) -> Target:
    """Return the target in a parsed JSON value in the form of memplan or DORY; raises ProblemError for other values."""
    machine = target_of_hardware_file(value) or value
    if not isinstance(machine, dict) or "memories" not in machine:
        is_work = isinstance(machine, dict) and machine.keys() & {"ops", "buffers"}
        raise ProblemError(
            "target: must be a machine with memories, links and an engine, such as those of"
            f" examples/schedules, got {'a problem or a network to schedule' if is_work else excerpt(value)}"
        )
    return Target.model_validate(machine)


TARGET = Input(
    "target",
    Target,
    _target_of,
    lambda target: target.model_dump(mode="json"),
    "The machine, which overrides the machine in the problem: a target as JSON, such as"
    " examples/schedules/gap8_like.json, or DORY's file of hardware.",
    from_file=lambda _reader, data, _name, _question: _target_of(memplan_json.parse(data)),
    required=False,
    named_by_flag=True,
)
