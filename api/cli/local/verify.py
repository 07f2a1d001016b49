"""Sentences of `memplan verify` beside its JSON."""

from __future__ import annotations

from memplan.api.cli.from_capability import Local

LOCAL = Local(says_lines=True)
