"""The kinds of jobs beside plans, by name; and the function that answers each in a worker."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from memplan.api.cluster.task import WorkAnswer, WorkControl, WorkTask
from memplan.api.service.kinds.bodies import parsed_fields
from memplan.api.service.kinds.from_capability import kind_of
from memplan.api.service.kinds.kind import JobKind
from memplan.capabilities.registry import CAPABILITIES

_MODULES = (
)
"""The modules of this package that have a `KIND`."""
PLAN = "plan"
"""The kind of jobs that end in a plan; it has a way of its own, by the cache and shared searches."""
KINDS: dict[str, JobKind[Any]] = {
    kind.name: kind for kind in (import_module(f"{__package__}.{name}").KIND for name in _MODULES)
} | {name: kind_of(CAPABILITIES[name]) for name in CAPABILITIES if name != PLAN}


def perform(task: WorkTask, control: WorkControl) -> WorkAnswer:
    """Answer a request that has been checked, in a worker; raises MemplanError."""
    kind = KINDS[task.kind]
    subject = kind.read(parsed_fields(kind, task.media, task.body))
    return kind.run(subject, kind.options.model_validate(dict(task.options)), control)
