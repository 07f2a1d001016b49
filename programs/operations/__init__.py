"""Programs and graphs of operations: their data types, facts about them, checks of orders, and a builder."""
