"""`memplan plan --plans`: several plans, cheapest first, which differ in the pairs of buffers that they pay for."""
