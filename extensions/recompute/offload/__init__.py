"""Offload: besides keeping or recomputing a tensor, a program may send it to another memory and fetch it again."""
