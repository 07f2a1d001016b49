"""What a bump allocator adds to memplan: its logs, its planner, a question and a constraint kind."""
