"""Programs that measure memplan, try to break it, and compare it with brute force.

They are not shipped with memplan.
"""
