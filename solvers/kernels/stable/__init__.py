"""Kernels for plans that change as little as can be; compiled apart, as planning needs none of them."""
