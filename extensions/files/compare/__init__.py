"""Compare: the plans of other systems against memplan's."""
