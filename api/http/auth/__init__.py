"""Authorisation: keys with names, scopes and quotas."""
