"""The search of `memplan plan --plans` for several plans that pay for different pairs of buffers, cheapest first."""
