"""Capabilities: each question that memplan answers, defined once for Python, the command, HTTP, jobs and clients."""

from keyword import iskeyword

MODULES = {
    "plan": "plan.plan",
    "explain": "explain.explain",
    "verify": "verify.verify",
    "check": "check.check",
    "sweep": "sweep.sweep",
    "certify": "certify.certify",
    "order": "order.order",
    "schedule": "schedule.schedule",
    "cascade": "cascade.cascade",
    "liveness": "liveness.liveness",
    "shadow": "liveness.shadow",
    "compare": "compare.compare",
    "convert": "convert.convert",
    "deploy": "convert.deploy",
    "export": "convert.export",
    "import": "convert.import_",
    "objects": "plan.objects",
    "heaps": "plan.heaps",
    "shapes": "shapes.shapes",
}
"""From the name of a capability to the module of this package that has it as `CAPABILITY`."""


def python_name(name: str) -> str:
    """Return the name of a capability's function: words are joined by `_`, and what Python keeps has `_` behind it."""
    word = name.replace("-", "_")
    return f"{word}_" if iskeyword(word) else word
