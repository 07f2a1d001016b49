"""ggml: a reader of graphs in the format of `graph_json.h`, and the planner of its graph allocator."""
