"""Compare: the plans of other systems beside memplan's."""
