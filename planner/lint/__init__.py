"""Lint: findings about parts of a problem or graph that are legal but probably unintended."""
