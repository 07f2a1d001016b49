"""The entry point of alembic; `migrate` hands it the connection, in a transaction that it must not end."""

from __future__ import annotations

from alembic import context

from memplan.api.store.schema import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
