"""Certify: proofs of plans that can be checked without memplan."""
