"""The outer layer of memplan: the command `memplan`, the HTTP service and its clients."""
