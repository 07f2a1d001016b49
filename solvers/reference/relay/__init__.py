"""The storage planner of TVM's Relay: on graphs of operations, or on a problem alone."""
