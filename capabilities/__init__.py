"""Capabilities: each question that memplan answers, defined once for Python, the command, HTTP, jobs and clients."""

MODULES = {
    "plan": "plans.plan",
    "explain": "reasons.explain",
    "repairs": "reasons.repairs",
    "scenarios": "reasons.scenarios",
    "what-if": "reasons.what_if",
    "audit": "plans.audit",
    "verify": "plans.verify",
    "check": "plans.check",
    "diff": "plans.diff",
    "replan": "plans.replan",
    "sweep": "plans.sweep",
    "replay": "plans.replay",
    "certificate": "plans.certificate",
}
"""From the name of a capability to the module of this package that has it as `CAPABILITY`."""
