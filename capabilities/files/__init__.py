"""Files of other systems: read, compared, converted and written."""
