"""The script that alembic runs: it applies the revisions in the caller's transaction, or prints their statements."""

from alembic import context
from sqlalchemy import update

from memplan.api.store.schema import REVISION, versions

given = context.config.attributes
context.configure(given["connection"], literal_binds=context.is_offline_mode())
for statement in given["first"]:
    context.execute(statement)
context.run_migrations()
# Servers older than the revisions read this version number, and refuse to start if the number is too high.
context.execute(update(versions).values(version=REVISION))
