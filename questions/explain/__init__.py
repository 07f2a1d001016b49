"""The question `explain`: why a problem does not fit its pools, or what decides its peak, and what would help."""
