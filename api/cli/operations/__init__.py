"""Commands on operations: orders, cascades, lifetimes."""
