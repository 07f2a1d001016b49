"""The zoo: what the memory of published architectures takes by the planners in use, beside the least that is proved."""
