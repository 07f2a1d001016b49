"""memplan for PyTorch: the command `fits`, a backend of torch.compile, and readers of the files that torch writes."""

MODULE = "memplan.extensions.torch.public"
"""The module that provides the names of `memplan.torch`."""
