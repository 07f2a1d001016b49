"""Plans that are known: kept by the hash of their problem, answered in each asker's own spelling."""
