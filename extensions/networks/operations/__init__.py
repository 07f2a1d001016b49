"""Programs and graphs of operations: their values and statements, facts, checks of orders, and a builder."""
