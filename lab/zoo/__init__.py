"""The zoo: the memory that common planners need for published network architectures, compared with proved minima."""
