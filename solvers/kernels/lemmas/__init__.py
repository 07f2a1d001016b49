"""The kernel that proves by lemmas that buffers do not fit, and keeps why."""
