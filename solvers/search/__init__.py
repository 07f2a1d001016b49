"""A running search: its incumbent and bound, and the plan or explanation made from them."""
