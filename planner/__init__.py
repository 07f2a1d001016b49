"""Memory-planning problems and plans: the domain layer, which depends only on numpy and pydantic."""

__version__ = "1.0.0"
