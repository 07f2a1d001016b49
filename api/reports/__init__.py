"""Reports: plans as tables, pictures and charts for people."""
