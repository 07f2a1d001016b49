"""Child processes: started within limits, given a task, and ended with everything that they started."""
