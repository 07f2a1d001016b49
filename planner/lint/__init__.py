"""Lint: findings about parts of a problem or a graph that are legal but probably not intended."""
