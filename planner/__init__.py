"""What a memory-planning problem and a plan are: the domain, which needs nothing but numpy and pydantic."""

__version__ = "0.1.0"
