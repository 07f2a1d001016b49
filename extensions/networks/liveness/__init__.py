"""The question `liveness`, and storages as TVM's Relay assigns them."""
