"""The question `certify`: certificates of plans, which programs independent of memplan can check."""
