"""The zoo: a comparison of common planners with proved minima, on hundreds of published network architectures."""
