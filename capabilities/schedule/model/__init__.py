"""Schedules of tiled operations through a fast memory: graphs, targets, their wire format, and the step simulator."""
