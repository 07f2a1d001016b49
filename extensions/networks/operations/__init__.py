"""Programs and graphs of operations: values and statements, facts about them, checks of orders, and a builder."""
