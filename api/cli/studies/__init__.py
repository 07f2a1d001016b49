"""Commands that explain and compare."""
