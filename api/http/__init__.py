"""The HTTP service: the application, its routes, and the layers between the routes and the socket."""
