"""Memory-planning problems and plans: the domain, which needs nothing but numpy and pydantic."""

__version__ = "1.0.0"
