"""Middleware: limits, slow clients, request log, security headers."""
