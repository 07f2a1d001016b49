"""Capabilities: each question that memplan answers, defined once for Python, the command, HTTP, jobs and clients."""

from keyword import iskeyword

MODULES = {
    "plan": "plans.plan",
    "explain": "reasons.explain",
    "repairs": "reasons.repairs",
    "scenarios": "reasons.scenarios",
    "what-if": "reasons.what_if",
    "audit": "plans.audit",
    "verify": "plans.verify",
    "inspect": "plans.inspect",
    "check": "plans.check",
    "diff": "plans.diff",
    "replan": "plans.replan",
    "sweep": "plans.sweep",
    "replay": "plans.replay",
    "certificate": "plans.certificate",
    "order": "operations.order",
    "recompute": "operations.recompute",
    "schedule": "operations.schedule",
    "cascade": "operations.cascade",
    "liveness": "operations.liveness",
    "shadow": "operations.shadow",
    "compare": "files.compare",
    "convert": "files.convert",
    "deploy": "files.deploy",
    "export": "files.export",
    "import": "files.import_",
    "objects": "plans.objects",
    "heaps": "plans.heaps",
    "shapes": "symbols.shapes",
    "limits": "symbols.limits",
    "verify-shapes": "symbols.verify_shapes",
}
"""From the name of a capability to the module of this package that has it as `CAPABILITY`."""


def python_name(name: str) -> str:
    """Return the name of a capability's function: words are joined by `_`, and what Python keeps has `_` behind it."""
    word = name.replace("-", "_")
    return f"{word}_" if iskeyword(word) else word
