"""Certificates: why a plan is optimal, or nothing fits, written so that it can be checked without memplan."""
