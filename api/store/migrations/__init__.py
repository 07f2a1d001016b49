"""How the tables came to be: alembic's environment (`env.py`) and one module a version."""
