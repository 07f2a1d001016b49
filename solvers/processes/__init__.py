"""Child processes: started with limits, given tasks, and ended together with all their descendants."""
