"""The question `liveness`, and storages assigned as by TVM's Relay."""
