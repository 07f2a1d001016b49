"""Known plans keep no claims: that nothing fits is dropped, and a plan that was called optimal is one to start from."""

from __future__ import annotations

from alembic import op

revision = "003"
down_revision = "002"


def upgrade() -> None:
    """Drop what was kept without a witness."""
    op.execute("DELETE FROM plans WHERE status NOT IN ('optimal', 'feasible')")
    op.execute("UPDATE plans SET status = 'feasible', is_final = false, searched_s = 0.0 WHERE status = 'optimal'")
