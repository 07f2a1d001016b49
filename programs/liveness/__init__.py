"""The question `liveness`, and the assignment of storages as in TVM's Relay."""
