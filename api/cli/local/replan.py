"""Flags of `memplan replan` alone: the files of a plan."""

from __future__ import annotations

from memplan.api.cli.from_capability import Local
from memplan.api.cli.local.plan_output import FILES, FLAGS, refuse_outputs, show_plan

LOCAL = Local(FLAGS, files=FILES, prepare=refuse_outputs, shows=show_plan, owns_output=True)
