"""Capabilities: each question that memplan answers, defined once for Python, the command, HTTP, jobs and clients."""

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
    "compare": "compare.compare",
    "convert": "convert.convert",
    "shapes": "shapes.shapes",
}
"""From the name of a capability to the module of this package that has it as `CAPABILITY`."""
