"""Certify: what proves a plan, to be checked without memplan."""
