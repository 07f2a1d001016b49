"""The migrations of the tables: alembic's environment (`env.py`) and one module a version."""
