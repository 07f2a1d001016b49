"""Certificates: proofs that a plan is optimal or that nothing fits, for checking without memplan."""
