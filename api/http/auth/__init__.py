"""Who may ask for what: keys with names, scopes and quotas."""
