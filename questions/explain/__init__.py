"""The question `explain`: why a problem does not fit or what decides its peak, and which changes would help."""
