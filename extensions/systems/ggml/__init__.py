"""ggml: graphs as `graph_json.h` writes them, and the planner of its allocator."""
