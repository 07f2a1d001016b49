"""Questions about networks: the operation order with the lowest peak, and the lifetimes of a program's buffers."""
