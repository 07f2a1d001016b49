"""Schedules of networks through a fast memory, which minimise the time or the traffic."""
