"""The HTTP service: the application, its routes, and the layers between them and a socket."""
