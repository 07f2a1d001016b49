"""Convert: problems, models and plans from one form to another."""
