"""Programs and graphs of operations: their values and statements, facts about them, checks of orders, and a builder."""
