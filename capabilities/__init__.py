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

FORMER_NAMES = {
    **dict.fromkeys(("export", "deploy", "import"), "convert"),
    **dict.fromkeys(("solve", "allocate", "optimize", "objects"), "plan"),
    "replan": "plan --keep",
    "heaps": "plan --profile",
    "validate": "verify",
    "audit": "verify --better",
    "inspect": "verify --places",
    "replay": "verify --again",
    **dict.fromkeys(("repair", "repairs"), "explain --repairs"),
    **dict.fromkeys(("what-if", "whatif"), "explain --what-if"),
    "diff": "check --differences",
    "scenarios": "sweep --changes",
    "certificate": "certify",
    "recompute": "order --recompute",
    "reorder": "order",
    "shadow": "liveness --plan",
    "limits": "shapes --limits",
    "verify-shapes": "shapes --verify",
    "model": "convert --to lp",
    "look": "plan -o plan.html",
}
"""From names that questions had, or have elsewhere, to the command that answers them."""
