"""Several plans that differ in the pairs that they pay for, cheapest first: `memplan plan --plans`."""
