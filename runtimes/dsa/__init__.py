"""dsa-solver: problems of dynamic storage allocation in which two buffers that share bytes may incur a cost."""
