"""The question `explain`: why a problem does not fit or what determines its peak, and which changes would help."""
