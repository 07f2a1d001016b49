"""Verify: violations of a plan, what decides its peak, and whether its claims hold."""
