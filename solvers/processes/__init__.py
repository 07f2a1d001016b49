"""Child processes: started within limits, given a task, heard, and ended with all that they started."""
