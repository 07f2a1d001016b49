"""Certificates: proofs that a plan is optimal, or that no plan exists, which can be checked without memplan."""
