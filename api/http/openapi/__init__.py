"""The OpenAPI schema, where the routes' own annotations do not say enough."""
