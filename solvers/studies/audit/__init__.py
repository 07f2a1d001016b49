"""Audits of plans, of whatever origin: valid or not, how far from the best, what makes them so, and what mends them."""
