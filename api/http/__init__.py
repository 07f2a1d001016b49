"""HTTP: the application, its routes, and what stands between them and a socket."""
