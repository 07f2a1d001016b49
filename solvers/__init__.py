"""How plans are found: bounds first, quick orders, then the engines, behind one gate."""
