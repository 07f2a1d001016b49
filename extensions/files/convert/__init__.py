"""Convert: problems, models and plans from one format to another."""
