"""Why nothing fits, what would mend it, and what changes are worth."""
