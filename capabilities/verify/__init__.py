"""Verify: what is wrong with a plan, what decides its peak, and whether its claims hold."""
