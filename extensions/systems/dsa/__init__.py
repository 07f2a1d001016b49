"""dsa-solver: problems of dynamic storage allocation in which buffers that share bytes may incur a cost."""
