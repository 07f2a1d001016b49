"""Work without waiting: what becomes of a problem that was submitted."""
